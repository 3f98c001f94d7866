import type { Reader } from "../../storage/engine.ts";

export interface Quorum {
  threshold: number;
  userIds: string[];
}

/** The members in the order of their ids. */
export async function findRootQuorum(read: Reader, organizationId: string): Promise<Quorum> {
  const members = await read
    .selectFrom("root_quorum_members")
    .select("user_id")
    .where("organization_id", "=", organizationId)
    .orderBy("user_id")
    .execute();
  const { quorum_threshold } = await read
    .selectFrom("organizations")
    .select("quorum_threshold")
    .where("id", "=", organizationId)
    .executeTakeFirstOrThrow();
  return { threshold: quorum_threshold, userIds: members.map(({ user_id }) => user_id) };
}
