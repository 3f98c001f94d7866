import type { Database } from "../storage/database.ts";
import type { Reader } from "../storage/engine.ts";
import { RESTORED_SINCE, storeInstallationRow } from "../storage/installation-rows.ts";
import { prepared } from "../storage/prepared.ts";

/**
 * Since when, in milliseconds, the installation has been running on a restored backup; undefined if it was never restored. A restored database
 * does not know what happened after the backup, so it cannot tell whether something from before this time was carried out or used up already.
 */
export async function findRestoredSince(read: Reader): Promise<number | undefined> {
  const [row] = await selectRestoredSince(read, {});
  return row === undefined || row.value === "" ? undefined : Number(row.value);
}

const selectRestoredSince = prepared<Record<string, never>>()((db) =>
  db.selectFrom("installation").select("value").where("name", "=", RESTORED_SINCE),
);

/** The same for a starting server. If it is the first one on a restored database, it stores the time. */
export const settleRestoredSince = (database: Pick<Database, "transact">, now: number): Promise<number | undefined> =>
  database.transact("installation", async (tx) => {
    const row = await tx
      .selectFrom("installation")
      .select("value")
      .where("name", "=", RESTORED_SINCE)
      .executeTakeFirst();
    if (row?.value !== "") return row && Number(row.value);
    await storeInstallationRow(tx, RESTORED_SINCE, String(now));
    return now;
  });
