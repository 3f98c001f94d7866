import type { RootQuorum } from "../../authority/state.ts";
import type { Reader } from "../../storage/engine.ts";
import { prepared } from "../../storage/prepared.ts";

/** The root quorum, its members ordered by id. Everything that needs the root quorum reads it here. */
export async function findRootQuorum(
  read: Reader,
  organizationId: string,
): Promise<RootQuorum & { userIds: string[] }> {
  const members = await selectMembers(read, { organizationId });
  const [organization] = await selectThreshold(read, { organizationId });
  if (!organization) throw new Error(`there is no organization ${organizationId}`);
  return { threshold: organization.quorum_threshold, userIds: members.map(({ user_id }) => user_id) };
}

const selectMembers = prepared<{ organizationId: string }>()((db, { organizationId }) =>
  db
    .selectFrom("root_quorum_members")
    .select("user_id")
    .where("organization_id", "=", organizationId)
    .orderBy("user_id"),
);

const selectThreshold = prepared<{ organizationId: string }>()((db, { organizationId }) =>
  db.selectFrom("organizations").select("quorum_threshold").where("id", "=", organizationId),
);
