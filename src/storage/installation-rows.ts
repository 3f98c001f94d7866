import type { Transactor } from "./engine.ts";

/** Names of rows in the table `installation` that more than one part of the code reads. */

/** The id of the root key that seals the keys of organizations. */
export const ROOT_KEY_ID = "root_key_id";
/** During a rotation: the id of the root key that sealed them before. Keys may still be sealed with it. */
export const PREVIOUS_ROOT_KEY_ID = "previous_root_key_id";
/** Before a rotation: the id of the root key that the servers are to get ready for. */
export const NEXT_ROOT_KEY_ID = "next_root_key_id";
/** The sealed key under which the installation's own keys are sealed. */
export const SERVICE_OWNER_KEY = "service_owner_key";
/** Identifies the installation; absent before the first rotation of the root key. */
export const INSTALLATION_ID = "installation_id";

/**
 * Since when, in milliseconds, the installation has been running on a restored backup; empty until a server has started on it. Absent if it was
 * never restored.
 */
export const RESTORED_SINCE = "restored_since";

/** Stores a row of the table `installation`; undefined deletes it. */
export async function storeInstallationRow(tx: Transactor, name: string, value: string | undefined): Promise<void> {
  if (value === undefined) {
    await tx.deleteFrom("installation").where("name", "=", name).execute();
    return;
  }
  await tx
    .insertInto("installation")
    .values({ name, value })
    .onConflict((conflict) => conflict.column("name").doUpdateSet({ value }))
    .execute();
}
