import type { Reader } from "../../storage/engine.ts";
import { prepared } from "../../storage/prepared.ts";
import type { VoteRecord } from "../activities/records.ts";
import type { Actor } from "../operations.ts";

const selectVoter = prepared<{ organizationId: string; userId: string }>()((db, { organizationId, userId }) =>
  db
    .selectFrom("users as u")
    .leftJoin("root_quorum_members as m", (join) =>
      join.onRef("m.organization_id", "=", "u.organization_id").onRef("m.user_id", "=", "u.id"),
    )
    .where("u.organization_id", "=", organizationId)
    .where("u.id", "=", userId)
    .select(["u.id", "u.name", "u.mfa_policies", "m.user_id as root_member"]),
);

/** A user who voted before, as of now: what they may do is judged afresh at every vote. */
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

/** The users behind approvals who still exist, with the keys they approved with. */
export async function findApprovers(
  read: Reader,
  organizationId: string,
  votes: readonly VoteRecord[],
): Promise<{ actor: Actor; publicKey: string }[]> {
  const approvals = votes.filter(({ selection }) => selection === "VOTE_SELECTION_APPROVED");
  const found = [];
  for (const { userId, publicKey } of approvals) {
    const actor = await findVoter(read, organizationId, userId);
    if (actor) found.push({ actor, publicKey });
  }
  return found;
}
