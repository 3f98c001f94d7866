import type { Database } from "../../storage/database.ts";
import type { Transactor } from "../../storage/engine.ts";

/** Rows that one transaction deletes at most, so that no request waits long behind it. */
const PORTION = 500;

/**
 * Deletes what is over, in portions with a transaction each. `deleteSome` deletes up to `limit` and resolves to how many there
 * were; the first portion that is not full is the last.
 *
 * @param scope that each of them locks; none unless said
 */
export async function deleteInPortions(
  database: Pick<Database, "transact">,
  deleteSome: (tx: Transactor, limit: number) => Promise<number>,
  scope?: string,
): Promise<void> {
  while ((await database.transact(scope, (tx) => deleteSome(tx, PORTION))) === PORTION);
}
