import { type FixedQuota, refuseExcess } from "../authority/quotas.ts";
import type { Transactor } from "../storage/engine.ts";
import type { OwnedTable } from "./operations.ts";

/** How many rows of a thing there may be. */

/** The rows that count against a quota: those in which every column has this value. */
interface Counted {
  organization_id: string;
  [column: string]: string | number;
}

/**
 * Asked after the rows were added, in the transaction that adds them: it is undone if they are too many.
 *
 * @throws KeysteadError QUOTA_EXCEEDED, or USER_QUOTA_EXCEEDED
 */
export async function enforceQuota(
  tx: Transactor,
  { table, ...quota }: FixedQuota & { table: OwnedTable },
  counted: Counted,
): Promise<void> {
  // One of many tables of one shape; what is asked of them is told by the names of the columns.
  let rows = tx.selectFrom(table as "users").select((eb) => eb.fn.countAll<number>().as("count"));
  for (const [column, value] of Object.entries(counted)) {
    rows = rows.where(column as "id", "=", value as string);
  }
  const { count } = await rows.executeTakeFirstOrThrow();
  refuseExcess(count, quota);
}
