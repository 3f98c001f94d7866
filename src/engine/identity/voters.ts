import type { Actor, ShownCredential } from "../../authority/parties.ts";
import type { Reader } from "../../storage/engine.ts";
import { prepared } from "../../storage/prepared.ts";
import { shownBy, type VoteRecord } from "../activities/rows.ts";

const selectVoter = prepared<{ organizationId: string; userId: string }>()(
  (db, { organizationId, userId }) =>
    db
      .selectFrom("users as u")
      .leftJoin("root_quorum_members as m", (join) =>
        join.onRef("m.organization_id", "=", "u.organization_id").onRef("m.user_id", "=", "u.id"),
      )
      .where("u.organization_id", "=", organizationId)
      .where("u.id", "=", userId)
      .select(["u.id", "u.name", "u.mfa_policies", "m.user_id as root_member"]),
  { isTogether: true },
);

/** The current state of a user who voted before: their rights are judged again at every vote. */
export async function findVoter(read: Reader, organizationId: string, userId: string): Promise<Actor | undefined> {
  const [row] = await selectVoter(read, { organizationId, userId });
  return (
    row && {
      userId: row.id,
      userName: row.name,
      organizationId,
      isRootQuorumMember: row.root_member !== null,
      hasMfaPolicies: row.mfa_policies > 0,
      credential: { id: "", type: "" },
    }
  );
}

/** The users who approved and still exist, with the credentials that they approved with. */
export async function findApprovers(
  read: Reader,
  organizationId: string,
  votes: readonly VoteRecord[],
): Promise<{ actor: Actor; credential: ShownCredential }[]> {
  const approvals = votes.filter(({ selection }) => selection === "VOTE_SELECTION_APPROVED");
  const found = await Promise.all(
    approvals.map(async (vote) => {
      const actor = await findVoter(read, organizationId, vote.userId);
      return actor ? [{ actor, credential: shownBy(vote) }] : [];
    }),
  );
  return found.flat();
}
