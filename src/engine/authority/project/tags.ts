import type { TagType } from "../../../authority/state.ts";
import { laterInsert } from "../../../storage/prepared.ts";
import { deleteRows, timesOf, updateRows } from "./rows.ts";
import type { Writers } from "./writers.ts";

const newTags = laterInsert(
  "tags",
  { id: "text", organization_id: "text", type: "text", name: "text", created_at: "integer", updated_at: "integer" },
  { referredToBy: ["user_tag_members", "private_key_tag_members"] },
);

const memberships = {
  TAG_TYPE_USER: "user_tag_members",
  TAG_TYPE_PRIVATE_KEY: "private_key_tag_members",
} as const satisfies Record<TagType, string>;

export const tagWriters = {
  async addTag(tx, organizationId, { tag }) {
    const { id, type, name } = tag;
    await tx.later(newTags, { id, organization_id: organizationId, type, name, ...timesOf(tag) });
  },

  changeTag: (tx, organizationId, { tagId, name, now }) =>
    updateRows(tx, "tags", { organizationId, id: tagId }, { ...(name === undefined ? {} : { name }), updated_at: now }),

  // Its assignments to members are deleted with the row.
  removeTag: (tx, organizationId, { tagId }) => deleteRows(tx, "tags", { organizationId, id: tagId }),

  async attachTag(tx, organizationId, { tagId, type, memberIds }) {
    const rows = memberIds.map((member_id) => ({ organization_id: organizationId, tag_id: tagId, member_id }));
    await tx
      .insertInto(memberships[type])
      .values(rows)
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  },

  async detachTag(tx, organizationId, { tagId, type, memberIds }) {
    await tx
      .deleteFrom(memberships[type])
      .where("organization_id", "=", organizationId)
      .where("tag_id", "=", tagId)
      .where("member_id", "in", memberIds)
      .execute();
  },
} satisfies Partial<Writers>;
