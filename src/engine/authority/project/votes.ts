import type { Transactor } from "../../../storage/engine.ts";
import { prepared } from "../../../storage/prepared.ts";

/** Records what was deleted. `engine/identity/revocations.ts` compares votes with it. */
export async function revokeVotes(
  tx: Transactor,
  organizationId: string,
  gone: readonly { id: string }[],
  now: number,
): Promise<void> {
  const rows = gone.map(({ id }) => ({ organization_id: organizationId, id, revoked_at: now }));
  await tx
    .insertInto("revocations")
    .values(rows)
    .onConflict((conflict) => conflict.columns(["organization_id", "id"]).doUpdateSet({ revoked_at: now }))
    .execute();
}

/** A user's stamps by one credential. */
type StampsBy = Record<"organizationId" | "userId" | "credentialId", string>;

/**
 * The newest time, after `now`, of such stamps of a table. An activity is never older than a stamp on it, so that only the activities of the
 * last moment are searched, not everything that the user has ever voted on.
 */
const newestAfter = (stamps: "votes" | "authentications") =>
  prepared<StampsBy & { now: number }>()((db, { organizationId, userId, credentialId, now }) =>
    db
      .selectFrom("activities")
      .innerJoin(`${stamps as "votes"} as stamps`, (join) =>
        join
          .onRef("stamps.organization_id", "=", "activities.organization_id")
          .onRef("stamps.activity_id", "=", "activities.id"),
      )
      .select((row) => row.fn.max("stamps.created_at").as("newest"))
      .where("activities.updated_at", ">", now)
      .where("activities.organization_id", "=", organizationId)
      .where("stamps.user_id", "=", userId)
      .where("stamps.credential_id", "=", credentialId),
  );
const newestVoteAfter = newestAfter("votes");
const newestFurtherStampAfter = newestAfter("authentications");

/**
 * The time up to which the loss of a contact revokes the stamps by it: all that are stored. A stamp has the time at which its request
 * arrived, and may therefore be newer than a loss that was asked for before it and is stored after it.
 */
export async function timeOfLoss(tx: Transactor, stamps: StampsBy, now: number): Promise<number> {
  const which = { ...stamps, now };
  const found = await Promise.all([newestVoteAfter(tx, which), newestFurtherStampAfter(tx, which)]);
  return Math.max(now, ...found.map(([row]) => row?.newest ?? now));
}
