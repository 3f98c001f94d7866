import type { Database } from "../storage/database.ts";
import type { Reader, Transactor } from "../storage/engine.ts";
import { RESTORED_SINCE, storeInstallationRow } from "../storage/installation-rows.ts";
import { prepared } from "../storage/prepared.ts";

/**
 * Since when, in milliseconds, the installation has been running on a restored backup; undefined if it was never restored. A restored database
 * does not know what happened after the backup, so it cannot tell whether something from before this time was carried out or used up already.
 */
export async function findRestoredSince(read: Reader): Promise<number | undefined> {
  return timeOf(await findValue(read));
}

const timeOf = (value: string | undefined): number | undefined => (value ? Number(value) : undefined);

const selectValue = prepared<Record<string, never>>()((db) =>
  db.selectFrom("installation").select("value").where("name", "=", RESTORED_SINCE),
);
const findValue = async (read: Reader): Promise<string | undefined> => (await selectValue(read, {}))[0]?.value;

/** The same for a starting server. If it is the first one on a restored database, it stores the time and records the restore. */
export async function settleRestoredSince(
  database: Pick<Database, "read" | "transact">,
  now: number,
  record: (tx: Transactor, now: number) => Promise<void> = async () => {},
): Promise<number | undefined> {
  const value = await findValue(database.read);
  if (value !== "") return timeOf(value);
  return database.transact("installation", async (tx) => {
    // Another server may have been first.
    const since = await findRestoredSince(tx);
    if (since !== undefined) return since;
    await storeInstallationRow(tx, RESTORED_SINCE, String(now));
    await record(tx, now);
    return now;
  });
}
