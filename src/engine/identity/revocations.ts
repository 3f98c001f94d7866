import { type RawBuilder, sql } from "kysely";
import type { Transactor } from "../../storage/engine.ts";
import { preparedWrite } from "../../storage/prepared.ts";

/**
 * Deleting a credential or a user revokes the votes made with it on activities that are still open. There may be any number of them, so none
 * is updated: the id of what was deleted is recorded (ids are never reused), and votes are compared with these ids when they are read. A
 * credential that expired, or was replaced by a newer one of the same user, does not count as deleted. If a user loses a contact, that is
 * recorded with the user and the time, and revokes the votes stored until then, because the user may get the contact back.
 */

/** When a stamp of the table was revoked, null if it was not. For open activities. */
export const revokedAtOf = (stamps: "votes" | "authentications"): RawBuilder<number | null> => {
  const column = (name: string) => sql.ref(`${stamps}.${name}`);
  const [credential, user] = [column("credential_id"), column("user_id")];
  const byContact = sql`${user} || ' ' || ${credential}`;
  return sql`(select min(r.revoked_at) from revocations r where r.organization_id = ${column("organization_id")}
    and r.id in (${credential}, ${user}, ${byContact})
    and (r.id <> ${byContact} or r.revoked_at >= ${column("created_at")}))`;
};

const keepRevocationsIn = (stamps: "votes" | "authentications") =>
  preparedWrite<{ organizationId: string; activityId: string }>()((db, { organizationId, activityId }) =>
    db
      .updateTable(stamps as "votes")
      .set({ revoked_at: revokedAtOf(stamps) })
      .where("organization_id", "=", organizationId)
      .where("activity_id", "=", activityId)
      .where(revokedAtOf(stamps), "is not", null)
      .returning("id"),
  );
const inVotes = keepRevocationsIn("votes");
const inFurtherStamps = keepRevocationsIn("authentications");

/**
 * Stores which stamps on an activity were revoked, just before it is decided. Later deletions, including those that the activity itself
 * makes, do not change which votes counted.
 */
export async function keepRevocations(
  tx: Transactor,
  which: { organizationId: string; activityId: string },
): Promise<void> {
  await Promise.all([inVotes(tx, which), inFurtherStamps(tx, which)]);
}
