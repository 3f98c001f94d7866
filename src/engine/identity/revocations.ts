import { type RawBuilder, sql } from "kysely";
import type { Transactor } from "../../storage/engine.ts";
import { preparedWrite } from "../../storage/prepared.ts";

/**
 * Who deletes a credential or a user takes back the votes given with it in activities that are still open. How many these are
 * nobody knows, so none of them is touched: what was deleted is remembered by its id, which no other ever gets, and the votes
 * are held against that when they are read. A credential that expired, or made room for a newer one of the same user, was not
 * deleted in this sense.
 */
export async function revoke(
  tx: Transactor,
  organizationId: string,
  ids: readonly string[],
  now: number,
): Promise<void> {
  const rows = [...new Set(ids)].map((id) => ({ organization_id: organizationId, id, revoked_at: now }));
  if (rows.length > 0) await tx.insertInto("revocations").values(rows).execute();
}

/** When the stamps of a table were taken back, null for those that stand: asked while the activity is open. */
export const revokedAtOf = (stamps: "votes" | "authentications"): RawBuilder<number | null> =>
  sql`(select min(r.revoked_at) from revocations r where r.organization_id = ${sql.ref(`${stamps}.organization_id`)}
    and r.id in (${sql.ref(`${stamps}.credential_id`)}, ${sql.ref(`${stamps}.user_id`)}))`;

/**
 * Writes into the votes on an activity which of them were taken back, just before it is decided: later deletions, its own
 * among them, change nothing of what counted.
 */
export const keepRevocations = preparedWrite<{ organizationId: string; activityId: string }>()(
  (db, { organizationId, activityId }) =>
    db
      .updateTable("votes")
      .set({ revoked_at: revokedAtOf("votes") })
      .where("organization_id", "=", organizationId)
      .where("activity_id", "=", activityId)
      .where(revokedAtOf("votes"), "is not", null)
      .returning("id"),
);
