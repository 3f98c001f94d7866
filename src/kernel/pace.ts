import { ANSWER_GRACE_MS, MIN_ANSWER_BYTES_PER_SECOND } from "./limits.ts";

/** How long a recipient may take to receive this many bytes, in milliseconds: a fixed time, plus the time at a minimum pace. */
export const msToReceive = (bytes: number): number => ANSWER_GRACE_MS + (bytes / MIN_ANSWER_BYTES_PER_SECOND) * 1000;
