import type { Static } from "typebox";
import { timestampOf } from "../../engine/fields.ts";
import { enforceQuota } from "../../engine/quotas.ts";
import { fail } from "../../kernel/errors.ts";
import { newId } from "../../kernel/ids.ts";
import { MAX_TAGS } from "../../kernel/limits.ts";
import type { Reader, Transactor } from "../../storage/engine.ts";
import type { Tag } from "./model.ts";

/** Tags of users and of private keys: one set of rules over two pairs of tables. */
export interface TagKind {
  type: "TAG_TYPE_USER" | "TAG_TYPE_PRIVATE_KEY";
  /** Who carries which tag. */
  memberships: "user_tag_members" | "private_key_tag_members";
  members: "users" | "private_keys";
  /** In errors. */
  tagLabel: string;
  memberLabel: string;
}

export const userTags: TagKind = {
  type: "TAG_TYPE_USER",
  memberships: "user_tag_members",
  members: "users",
  tagLabel: "user tag",
  memberLabel: "user",
};

export const privateKeyTags: TagKind = {
  type: "TAG_TYPE_PRIVATE_KEY",
  memberships: "private_key_tag_members",
  members: "private_keys",
  tagLabel: "private key tag",
  memberLabel: "private key",
};

/** What a change of tags takes place in. */
export interface TagScope {
  tx: Transactor;
  organizationId: string;
  kind: TagKind;
  /** Milliseconds. */
  now: number;
}

/** Adds a tag that the given members carry. */
export async function addTag(scope: TagScope, name: string, memberIds: readonly string[]): Promise<string> {
  const { tx, organizationId, kind, now } = scope;
  const id = newId();
  await tx
    .insertInto("tags")
    .values({ id, organization_id: organizationId, type: kind.type, name, created_at: now, updated_at: now })
    .execute();
  const quota = { table: "tags", kind: `${kind.tagLabel}s`, limit: MAX_TAGS } as const;
  await enforceQuota(tx, quota, { organization_id: organizationId, type: kind.type });
  await addMembers(scope, id, memberIds);
  return id;
}

export interface TagChange {
  name?: string | undefined;
  addMemberIds: readonly string[];
  removeMemberIds: readonly string[];
}

/** Renames a tag and changes who carries it; one unknown id and the transaction fails as a whole. */
export async function changeTag(scope: TagScope, tagId: string, change: TagChange): Promise<void> {
  const { tx, organizationId, now } = scope;
  await requireTags(scope, [tagId]);
  await tx
    .updateTable("tags")
    .set({ ...(change.name === undefined ? {} : { name: change.name }), updated_at: now })
    .where("organization_id", "=", organizationId)
    .where("id", "=", tagId)
    .execute();
  await addMembers(scope, tagId, change.addMemberIds);
  await removeMembers(scope, tagId, change.removeMemberIds);
}

/** Deletes tags; resolves to the ids of those who carried one of them. */
export async function removeTags(scope: TagScope, tagIds: readonly string[]): Promise<string[]> {
  const { tx, organizationId, kind } = scope;
  await requireTags(scope, tagIds);
  const carriers = await tx
    .selectFrom(kind.memberships)
    .select("member_id")
    .distinct()
    .where("organization_id", "=", organizationId)
    .where("tag_id", "in", [...tagIds])
    .orderBy("member_id")
    .execute();
  const memberIds = carriers.map(({ member_id }) => member_id);
  await markChanged(scope, memberIds);
  await tx
    .deleteFrom("tags")
    .where("organization_id", "=", organizationId)
    .where("id", "in", [...tagIds])
    .execute();
  return memberIds;
}

/** Gives a member exactly these tags. The member itself is marked as changed by the caller. */
export async function replaceTags(
  { tx, organizationId, kind }: Omit<TagScope, "now">,
  memberId: string,
  tagIds: readonly string[],
): Promise<void> {
  await tx
    .deleteFrom(kind.memberships)
    .where("organization_id", "=", organizationId)
    .where("member_id", "=", memberId)
    .execute();
  if (tagIds.length === 0) return;
  await requireTags({ tx, organizationId, kind }, tagIds);
  const rows = [...new Set(tagIds)].map((tag_id) => ({
    organization_id: organizationId,
    tag_id,
    member_id: memberId,
  }));
  await tx.insertInto(kind.memberships).values(rows).execute();
}

/** Every tag of one kind. */
export async function findTags(read: Reader, organizationId: string, kind: TagKind): Promise<Static<typeof Tag>[]> {
  const rows = await read
    .selectFrom("tags")
    .selectAll()
    .where("organization_id", "=", organizationId)
    .where("type", "=", kind.type)
    .orderBy("id")
    .execute();
  return rows.map((row) => ({
    tagId: row.id,
    tagName: row.name,
    tagType: row.type,
    createdAt: timestampOf(row.created_at),
    updatedAt: timestampOf(row.updated_at),
  }));
}

/** @throws KeysteadError RESOURCE_NOT_FOUND naming the first tag that the organization does not have of this kind */
export async function requireTags(
  { tx, organizationId, kind }: Omit<TagScope, "now">,
  tagIds: readonly string[],
): Promise<void> {
  if (tagIds.length === 0) return;
  const rows = await tx
    .selectFrom("tags")
    .select("id")
    .where("organization_id", "=", organizationId)
    .where("type", "=", kind.type)
    .where("id", "in", [...tagIds])
    .execute();
  refuseUnknown(rows, tagIds, kind.tagLabel, organizationId);
}

async function requireMembers({ tx, organizationId, kind }: TagScope, memberIds: readonly string[]): Promise<void> {
  const rows = await tx
    .selectFrom(kind.members)
    .select("id")
    .where("organization_id", "=", organizationId)
    .where("id", "in", [...memberIds])
    .execute();
  refuseUnknown(rows, memberIds, kind.memberLabel, organizationId);
}

function refuseUnknown(rows: { id: string }[], ids: readonly string[], kind: string, organizationId: string): void {
  const known = new Set(rows.map(({ id }) => id));
  const unknown = ids.find((id) => !known.has(id));
  if (unknown !== undefined) fail("RESOURCE_NOT_FOUND", { kind, id: unknown, organizationId });
}

async function addMembers(scope: TagScope, tagId: string, memberIds: readonly string[]): Promise<void> {
  if (memberIds.length === 0) return;
  const { tx, organizationId, kind } = scope;
  await requireMembers(scope, memberIds);
  const rows = [...new Set(memberIds)].map((member_id) => ({
    organization_id: organizationId,
    tag_id: tagId,
    member_id,
  }));
  await tx
    .insertInto(kind.memberships)
    .values(rows)
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  await markChanged(scope, memberIds);
}

async function removeMembers(scope: TagScope, tagId: string, memberIds: readonly string[]): Promise<void> {
  if (memberIds.length === 0) return;
  const { tx, organizationId, kind } = scope;
  await requireMembers(scope, memberIds);
  await tx
    .deleteFrom(kind.memberships)
    .where("organization_id", "=", organizationId)
    .where("tag_id", "=", tagId)
    .where("member_id", "in", [...memberIds])
    .execute();
  await markChanged(scope, memberIds);
}

/** A user's tags are part of how the user is shown and judged; a private key's are read afresh each time. */
async function markChanged({ tx, organizationId, kind, now }: TagScope, memberIds: readonly string[]): Promise<void> {
  if (kind.members !== "users" || memberIds.length === 0) return;
  await tx
    .updateTable("users")
    .set((user) => ({ version: user("version", "+", 1), updated_at: now }))
    .where("organization_id", "=", organizationId)
    .where("id", "in", [...memberIds])
    .execute();
}
