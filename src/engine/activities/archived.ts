import { sql } from "kysely";
import type { Reader, Transactor } from "../../storage/engine.ts";
import { prepared } from "../../storage/prepared.ts";

/** What the database keeps of archived activities: the time before which activities may be missing, and which of them sent a transaction. */

/** The name of that time in `installation`. */
export const archivedBeforeName = "activities_archived_before";

/** Milliseconds; 0 if nothing was archived. */
export async function archivedBefore(read: Reader): Promise<number> {
  const [row] = await selectValue(read, { name: archivedBeforeName });
  return Number(row?.value ?? 0);
}

/** An activity as it is in an archive. */
export interface Archived {
  id: string;
  /** Milliseconds. */
  updatedAt: number;
}

/**
 * The ids among `ids` that must not be archived yet: activities whose body a webhook event still refers to, and those whose transaction is
 * pending, because it may have to be signed again, which needs the activity and updates it.
 */
export async function stillNeeded(read: Reader, organizationId: string, ids: readonly string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const events = await read
    .selectFrom("webhook_events")
    .select("activity_id")
    .where("activity_id", "in", ids)
    .execute();
  const sends = await read
    .selectFrom("send_transactions")
    .select("activity_id")
    .where("organization_id", "=", organizationId)
    .where("status", "in", ["INITIALIZED", "BROADCASTING"])
    .where("activity_id", "in", ids)
    .execute();
  return new Set([...events, ...sends].map(({ activity_id }) => activity_id as string));
}

/**
 * Removes activities of an organization with all dependent rows. An activity that changed since it was archived, or is still needed, is
 * kept.
 *
 * @param before the archive's time, in milliseconds
 * @returns how many were removed
 */
export async function removeArchived(
  tx: Transactor,
  organizationId: string,
  activities: readonly Archived[],
  before: number,
): Promise<number> {
  const archived = new Map(activities.map(({ id, updatedAt }) => [id, updatedAt]));
  const rows = await tx
    .selectFrom("activities")
    .select(["id", "fingerprint", "created_at", "updated_at"])
    .where("organization_id", "=", organizationId)
    .where("id", "in", [...archived.keys()])
    .execute();
  const needed = await stillNeeded(tx, organizationId, [...archived.keys()]);
  const same = rows.filter((row) => row.updated_at === archived.get(row.id) && !needed.has(row.id));
  if (same.length === 0) return 0;
  const ids = same.map(({ id }) => id);
  await noteArchived(tx, before);
  await rememberSends(tx, organizationId, same);
  for (const table of ["votes", "authentications", "policy_evaluations", "app_proofs"] as const) {
    await tx.deleteFrom(table).where("organization_id", "=", organizationId).where("activity_id", "in", ids).execute();
  }
  await tx.deleteFrom("activities").where("organization_id", "=", organizationId).where("id", "in", ids).execute();
  return ids.length;
}

/** Never moves the time back: of two concurrent archives, the one that ends last may have the earlier time. */
async function noteArchived(tx: Transactor, before: number): Promise<void> {
  if ((await archivedBefore(tx)) >= before) return;
  await tx
    .insertInto("installation")
    .values({ name: archivedBeforeName, value: String(before) })
    .onConflict((conflict) =>
      conflict
        .column("name")
        .doUpdateSet({ value: String(before) })
        .where(sql<boolean>`cast(installation.value as bigint) < ${before}`),
    )
    .execute();
}

/** Keeps which activity sent a transaction, because histories show it. */
async function rememberSends(
  tx: Transactor,
  organizationId: string,
  activities: readonly { id: string; fingerprint: string; created_at: number }[],
): Promise<void> {
  const sends = await tx
    .selectFrom("own_transactions")
    .select(["caip2", "transaction_hash", "activity_id"])
    .where("organization_id", "=", organizationId)
    .where(
      "activity_id",
      "in",
      activities.map(({ id }) => id),
    )
    .execute();
  const known = new Map(activities.map((activity) => [activity.id, activity]));
  for (const { caip2, transaction_hash, activity_id } of sends) {
    const { fingerprint, created_at: submitted_at } = known.get(activity_id) as (typeof activities)[number];
    await tx
      .updateTable("own_transactions")
      .set({ fingerprint, submitted_at })
      .where("organization_id", "=", organizationId)
      .where("caip2", "=", caip2)
      .where("transaction_hash", "=", transaction_hash)
      .execute();
  }
}

const selectValue = prepared<{ name: string }>()((db, { name }) =>
  db.selectFrom("installation").select("value").where("name", "=", name),
);
