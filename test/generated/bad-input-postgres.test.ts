import { describeBadInput } from "../support/bad-input.ts";

describeBadInput("postgres");
