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
    case "addSessionProfile": {
      const { id, name, scope, expirationSeconds, notes, createdAt } = change.profile;
      const row = { id, organization_id: organizationId, name, scope, expiration_seconds: expirationSeconds, notes };
      const times = { created_at: createdAt, updated_at: createdAt };
      await tx
        .insertInto("session_profiles")
        .values({ ...row, ...times })
        .execute();
      return;
    }
    case "putAllowlist": {
      const { allowlist, now } = change;
      const { id, apiKeyId, enabled, onEvaluationError, rules } = allowlist;
      const content = {
        enabled: enabled ? 1 : 0,
        on_evaluation_error: onEvaluationError,
        rules: JSON.stringify(rules),
        updated_at: now,
      };
      await tx
        .insertInto("ip_allowlists")
        .values({ organization_id: organizationId, id, api_key_id: apiKeyId, ...content, created_at: now })
        .onConflict((conflict) => conflict.columns(["organization_id", "id"]).doUpdateSet(content))
        .execute();
      return;
    }
    case "removeAllowlist":
      await tx
        .deleteFrom("ip_allowlists")
        .where("organization_id", "=", organizationId)
        .where("id", "=", change.id)
        .execute();
      return;
    case "addInvitation": {
      const { invitation, now } = change;
      await tx
        .insertInto("invitations")
        .values({
          id: invitation.id,
          organization_id: organizationId,
          status: "CREATED",
          receiver_name: invitation.receiverName,
          receiver_email: invitation.receiverEmail,
          receiver_tag_ids: JSON.stringify(invitation.receiverTagIds),
          access_type: invitation.accessType,
          sender_user_id: invitation.senderUserId,
          created_at: now,
          updated_at: now,
        })
        .execute();
      return;
    }
    case "revokeInvitation":
      await tx
        .updateTable("invitations")
        .set({ status: "REVOKED", updated_at: change.now })
        .where("organization_id", "=", organizationId)
        .where("id", "=", change.id)
        .execute();
      return;
    case "addInterface": {
      const { id, type, address, lookup, label, notes, json, createdAt } = change.contract;
      await tx
        .insertInto("smart_contract_interfaces")
        .values({
          id,
          organization_id: organizationId,
          type,
          address,
          lookup,
          label,
          notes,
          interface_json: json,
          interface_bytes: Buffer.byteLength(json),
          created_at: createdAt,
          updated_at: createdAt,
        })
        .execute();
      return;
    }
    case "removeInterface":
      await tx
        .deleteFrom("smart_contract_interfaces")
        .where("organization_id", "=", organizationId)
        .where("id", "=", change.id)
        .execute();
      return;
    case "setFeature": {
      const { name, value } = change.feature;
      await tx
        .insertInto("organization_features")
        .values({ organization_id: organizationId, name, value })
        .onConflict((conflict) => conflict.columns(["organization_id", "name"]).doUpdateSet({ value }))
        .execute();
      return;
    }
    case "removeFeature":
      await tx
        .deleteFrom("organization_features")
        .where("organization_id", "=", organizationId)
        .where("name", "=", change.name)
        .execute();
      return;
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
