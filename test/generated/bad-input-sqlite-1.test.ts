import { describeBadInput } from "../support/bad-input.ts";

describeBadInput("sqlite", 1, 3);
