import { ERASURE_PAUSE_MS, ERASURE_RUN_MS } from "../../kernel/limits.ts";
import type { Database } from "../../storage/database.ts";
import type { Transactor } from "../../storage/engine.ts";
import type { JobResult } from "./jobs.ts";

/** The most rows that one transaction deletes, so that no request waits long for it. */
const PORTION = 500;

/** Deletes up to `limit` rows and resolves to how many it deleted. */
type DeleteSome = (tx: Transactor, limit: number) => Promise<number>;

/**
 * Deletes rows in portions, each in a transaction of its own, until a portion is not full.
 *
 * @param scope locked by each transaction; default: none
 * @param isTimeUp called after each full portion; true ends the deletion early
 * @returns whether all rows are deleted
 */
export async function deleteInPortions(
  database: Pick<Database, "transact">,
  deleteSome: DeleteSome,
  { scope, isTimeUp = () => false }: { scope?: string; isTimeUp?: () => boolean } = {},
): Promise<boolean> {
  while ((await database.transact(scope, (tx) => deleteSome(tx, PORTION))) === PORTION) {
    if (isTimeUp()) return false;
  }
  return true;
}

/**
 * One run of a job that erases rows: runs the deletions in order as far as the time allows, and `end` with the last of them. An interrupted
 * run is continued by the next one.
 */
export async function eraseInPortions(
  database: Pick<Database, "transact">,
  deletions: readonly DeleteSome[],
  end: (tx: Transactor) => Promise<void>,
): Promise<JobResult> {
  const last = performance.now() + ERASURE_RUN_MS;
  const isTimeUp = () => performance.now() >= last;
  for (const deleteSome of deletions) {
    const isGone = await deleteInPortions(database, deleteSome, { isTimeUp });
    if (!isGone) return { next: { do: "pause", inMs: ERASURE_PAUSE_MS } };
  }
  return { next: { do: "finish" }, record: end };
}
