import { KeysteadError } from "../../kernel/errors.ts";

/** What jobs have in common that wait for the end of a transaction which another job follows. */

const SHORTEST_PAUSE_MS = 300;
const LONGEST_PAUSE_MS = 5000;
/** How long they rest when no node answers. */
export const AWAY_PAUSE_MS = 2000;

/** Milliseconds until the next look at a transaction that was asked for so long ago. */
export const pauseUntilEnd = (ageMs: number): number =>
  Math.min(LONGEST_PAUSE_MS, Math.max(SHORTEST_PAUSE_MS, ageMs / 4));

/** Only a node that is away stands between a transaction's end and what is known of it; anything else is thrown. */
export function unlessAway(error: unknown): undefined {
  if (!(error instanceof KeysteadError) || error.httpStatus < 500) throw error;
}
