import { KeysteadError } from "../../kernel/errors.ts";

/** Shared by the jobs that wait for the end of a transaction that another job follows. */

const SHORTEST_PAUSE_MS = 300;
const LONGEST_PAUSE_MS = 5000;
/** How long they pause when no node answers. */
export const AWAY_PAUSE_MS = 2000;

/** Milliseconds until the next check of a transaction that was requested `ageMs` ago. */
export const pauseUntilEnd = (ageMs: number): number =>
  Math.min(LONGEST_PAUSE_MS, Math.max(SHORTEST_PAUSE_MS, ageMs / 4));

/** Swallows errors of unavailable nodes, after which the job tries again; rethrows all others. */
export function unlessAway(error: unknown): undefined {
  if (!(error instanceof KeysteadError) || error.httpStatus < 500) throw error;
}
