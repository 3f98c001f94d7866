import type { Static } from "typebox";
import type { TagType } from "../../authority/state.ts";
import { timestampOf } from "../../engine/fields.ts";
import type { Reader } from "../../storage/engine.ts";
import type { Tag } from "./model.ts";

/** Tags of users, or of private keys. */
interface TagKind {
  type: TagType;
}

export const userTags: TagKind = { type: "TAG_TYPE_USER" };
export const privateKeyTags: TagKind = { type: "TAG_TYPE_PRIVATE_KEY" };

/** All tags of one kind. */
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
