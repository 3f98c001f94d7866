import type { Change } from "../../authority/changes.ts";
import type { TagType } from "../../authority/state.ts";
import type { Transactor } from "../../storage/engine.ts";

/**
 * Writes changes to the tables: the only code that writes a table of authority. It is the engine's, not the storage's, as
 * what a change means is not known below.
 */
export async function project(tx: Transactor, organizationId: string, changes: readonly Change[]): Promise<void> {
  for (const change of changes) await projectOne(tx, organizationId, change);
}

const memberships = {
  TAG_TYPE_USER: "user_tag_members",
  TAG_TYPE_PRIVATE_KEY: "private_key_tag_members",
} as const satisfies Record<TagType, string>;

async function projectOne(tx: Transactor, organizationId: string, change: Change): Promise<void> {
  switch (change.do) {
    case "addTag": {
      const { id, type, name, createdAt, updatedAt } = change.tag;
      const row = { id, organization_id: organizationId, type, name, created_at: createdAt, updated_at: updatedAt };
      await tx.insertInto("tags").values(row).execute();
      return;
    }
    case "changeTag": {
      const { tagId, name, now } = change;
      await tx
        .updateTable("tags")
        .set({ ...(name === undefined ? {} : { name }), updated_at: now })
        .where("organization_id", "=", organizationId)
        .where("id", "=", tagId)
        .execute();
      return;
    }
    case "removeTag":
      // Those who carried it lose it with the row.
      await tx
        .deleteFrom("tags")
        .where("organization_id", "=", organizationId)
        .where("id", "=", change.tagId)
        .execute();
      return touchMembers(tx, organizationId, change);
    case "attachTag": {
      const { tagId, type, memberIds } = change;
      const rows = memberIds.map((member_id) => ({ organization_id: organizationId, tag_id: tagId, member_id }));
      await tx
        .insertInto(memberships[type])
        .values(rows)
        .onConflict((conflict) => conflict.doNothing())
        .execute();
      return touchMembers(tx, organizationId, change);
    }
    case "detachTag": {
      const { tagId, type, memberIds } = change;
      await tx
        .deleteFrom(memberships[type])
        .where("organization_id", "=", organizationId)
        .where("tag_id", "=", tagId)
        .where("member_id", "in", [...memberIds])
        .execute();
      return touchMembers(tx, organizationId, change);
    }
  }
}

/** A user's tags are part of how the user is shown and judged; a private key's are read afresh each time. */
async function touchMembers(
  tx: Transactor,
  organizationId: string,
  { type, memberIds, now }: { type: TagType; memberIds: readonly string[]; now: number },
): Promise<void> {
  if (type !== "TAG_TYPE_USER" || memberIds.length === 0) return;
  await tx
    .updateTable("users")
    .set((user) => ({ version: user("version", "+", 1), updated_at: now }))
    .where("organization_id", "=", organizationId)
    .where("id", "in", [...memberIds])
    .execute();
}
