import { describeBadInput } from "../support/bad-input.ts";

describeBadInput("sqlite", 3, 3);
