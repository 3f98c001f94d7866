import type { Static } from "typebox";
import { timestampOf } from "../../engine/fields.ts";
import { fail } from "../../kernel/errors.ts";
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

function refuseUnknown(rows: { id: string }[], ids: readonly string[], kind: string, organizationId: string): void {
  const known = new Set(rows.map(({ id }) => id));
  const unknown = ids.find((id) => !known.has(id));
  if (unknown !== undefined) fail("RESOURCE_NOT_FOUND", { kind, id: unknown, organizationId });
}
