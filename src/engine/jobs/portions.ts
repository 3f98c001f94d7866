import type { Database } from "../../storage/database.ts";
import type { Transactor } from "../../storage/engine.ts";

/** Rows that one transaction deletes at most, so that no request waits long behind it. */
const PORTION = 500;

/**
 * Deletes what is over, in portions with a transaction each. `deleteSome` deletes up to `limit` and resolves to how many there
 * were; the first portion that is not full is the last.
 *
 * @param scope that each of them locks; none unless said
 * @param isTimeUp asked after each full portion; never unless said
 * @returns whether there is nothing left of it: the time may have been up before
 */
export async function deleteInPortions(
  database: Pick<Database, "transact">,
  deleteSome: (tx: Transactor, limit: number) => Promise<number>,
  { scope, isTimeUp = () => false }: { scope?: string; isTimeUp?: () => boolean } = {},
): Promise<boolean> {
  while ((await database.transact(scope, (tx) => deleteSome(tx, PORTION))) === PORTION) {
    if (isTimeUp()) return false;
  }
  return true;
}
