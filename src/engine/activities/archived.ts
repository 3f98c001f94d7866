import { sql } from "kysely";
import type { Reader, Transactor } from "../../storage/engine.ts";
import { prepared } from "../../storage/prepared.ts";

/** What remains of activities that were archived: a time before which they may have been submitted, and what histories show of them. */

/** What the installation calls that time. */
export const archivedBeforeName = "activities_archived_before";

/** Milliseconds; 0 where nothing was archived. */
export async function archivedBefore(read: Reader): Promise<number> {
  const [row] = await selectValue(read, { name: archivedBeforeName });
  return Number(row?.value ?? 0);
}

/** Activities as an archive has them. */
export interface Archived {
  id: string;
  /** Milliseconds. */
  updatedAt: number;
}

/**
 * Which of an organization's activities others still need. Events of webhooks have their bodies from them, until they are pruned; and a
 * transaction that is on its way is signed anew by what was decided, under another hash, which is noted with the activity.
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
 * Removes activities of an organization with all that stands under them. One that is not as the archive has it stays, and so does
 * one that is still needed.
 *
 * @param before as the archive has it, in milliseconds
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

/** Never an earlier time than is noted: of two archives at once, the one that is asked last may not be the younger one. */
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

/** Histories show which activity sent a transaction. */
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
