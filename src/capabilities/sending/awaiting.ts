import { MINUTE_MS } from "../../kernel/durations.ts";
import { KeysteadError } from "../../kernel/errors.ts";

/** Shared by the jobs that wait for the end of a transaction that another job follows. */

const SHORTEST_PAUSE_MS = 300;
const LONGEST_PAUSE_MS = 5000;
/** The longest pause after a transaction FAILED: a block may include it nevertheless, which is rare. */
const LONGEST_PAUSE_AFTER_FAILURE_MS = MINUTE_MS;
/** How long they pause when no node answers. */
export const AWAY_PAUSE_MS = 2000;

/** Milliseconds until the next check of a transaction that was requested `ageMs` ago. */
export const pauseUntilFinal = (ageMs: number, hasFailed: boolean): number =>
  Math.min(hasFailed ? LONGEST_PAUSE_AFTER_FAILURE_MS : LONGEST_PAUSE_MS, Math.max(SHORTEST_PAUSE_MS, ageMs / 4));

/** Swallows errors of unavailable nodes, after which the job tries again; rethrows all others. */
export function unlessAway(error: unknown): undefined {
  if (!(error instanceof KeysteadError) || error.httpStatus < 500) throw error;
}
