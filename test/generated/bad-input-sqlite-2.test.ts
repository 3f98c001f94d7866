import { describeBadInput } from "../support/bad-input.ts";

describeBadInput("sqlite", 2, 3);
