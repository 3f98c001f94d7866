import { newId } from "../../kernel/ids.ts";
import type { Reader, Transactor } from "../../storage/engine.ts";

/** On for every new organization; the others are switched on when they are needed. */
const DEFAULT_FEATURES = ["FEATURE_NAME_EMAIL_AUTH", "FEATURE_NAME_OTP_EMAIL_AUTH"];

export interface NewOrganization {
  id?: string;
  name: string;
  parentId: string | null;
  sealedKey: Uint8Array;
  now: number;
}

/** Adds an organization without users; its root quorum is set once there are some. */
export async function addOrganization(tx: Transactor, organization: NewOrganization): Promise<string> {
  const { id = newId(), name, parentId, sealedKey, now } = organization;
  await tx
    .insertInto("organizations")
    .values({
      id,
      name,
      parent_id: parentId,
      sealed_key: sealedKey,
      quorum_threshold: 1,
      created_at: now,
      updated_at: now,
    })
    .execute();
  const features = DEFAULT_FEATURES.map((feature) => ({ organization_id: id, name: feature, value: null }));
  await tx.insertInto("organization_features").values(features).execute();
  return id;
}

export interface Quorum {
  threshold: number;
  userIds: string[];
}

export async function replaceRootQuorum(
  tx: Transactor,
  organizationId: string,
  quorum: Quorum,
  now: number,
): Promise<void> {
  await tx.deleteFrom("root_quorum_members").where("organization_id", "=", organizationId).execute();
  const members = quorum.userIds.map((user_id) => ({ organization_id: organizationId, user_id }));
  await tx.insertInto("root_quorum_members").values(members).execute();
  await tx
    .updateTable("organizations")
    .set({ quorum_threshold: quorum.threshold, updated_at: now })
    .where("id", "=", organizationId)
    .execute();
}

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

export async function findFeatures(read: Reader, organizationId: string): Promise<{ name: string; value?: string }[]> {
  const features = await read
    .selectFrom("organization_features")
    .select(["name", "value"])
    .where("organization_id", "=", organizationId)
    .orderBy("name")
    .execute();
  return features.map(({ name, value }) => (value === null ? { name } : { name, value }));
}
