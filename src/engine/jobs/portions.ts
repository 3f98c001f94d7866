import { ERASURE_PAUSE_MS, ERASURE_RUN_MS } from "../../kernel/limits.ts";
import type { Database } from "../../storage/database.ts";
import type { Transactor } from "../../storage/engine.ts";
import type { JobResult } from "./jobs.ts";

/** Rows that one transaction deletes at most, so that no request waits long behind it. */
const PORTION = 500;

/** Deletes up to `limit` rows and resolves to how many there were. */
type DeleteSome = (tx: Transactor, limit: number) => Promise<number>;

/**
 * Deletes what is over, in portions with a transaction each. The first that is not full is the last.
 *
 * @param scope that each of them locks; none unless said
 * @param isTimeUp asked after each full portion; never unless said
 * @returns whether there is nothing left of it: the time may have been up before
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
 * One run of a job that erases: these deletions in their order, as far as it gets, and `end` with the last of them. Wherever it is broken
 * off it goes on.
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
