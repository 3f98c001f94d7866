import { ANSWER_GRACE_MS, MIN_ANSWER_BYTES_PER_SECOND } from "./limits.ts";

/** How long whoever is sent so many bytes may take to receive them, in milliseconds: a moment, and a least pace after it. */
export const msToReceive = (bytes: number): number => ANSWER_GRACE_MS + (bytes / MIN_ANSWER_BYTES_PER_SECOND) * 1000;
