import type { Reader } from "../../storage/engine.ts";
import { prepared } from "../../storage/prepared.ts";

export interface Quorum {
  threshold: number;
  userIds: string[];
}

/** The members in the order of their ids. */
export async function findRootQuorum(read: Reader, organizationId: string): Promise<Quorum> {
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
