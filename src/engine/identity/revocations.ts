import { type RawBuilder, sql } from "kysely";
import type { Transactor } from "../../storage/engine.ts";
import { preparedWrite } from "../../storage/prepared.ts";

/**
 * Who deletes a credential or a user takes back the votes given with it in activities that are still open. How many these are
 * nobody knows, so none of them is touched: what was deleted is remembered by its id, which no other ever gets, and the votes
 * are held against that when they are read. A credential that expired, or made room for a newer one of the same user, was not
 * deleted in this sense. A contact that a user loses is remembered with the user, and takes back what was given until then: the user may
 * have it again.
 */

/** When the stamps of a table were taken back, null for those that stand: asked while the activity is open. */
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
 * Writes into the stamps on an activity which of them were taken back, just before it is decided: later deletions, its own
 * among them, change nothing of what counted.
 */
export async function keepRevocations(
  tx: Transactor,
  which: { organizationId: string; activityId: string },
): Promise<void> {
  await Promise.all([inVotes(tx, which), inFurtherStamps(tx, which)]);
}
