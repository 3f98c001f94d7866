import { deleteRows, timesOf, updateRows } from "./rows.ts";
import type { Writers } from "./writers.ts";

/** Writers of an organization's settings and invitations. */
export const organizationWriters = {
  async addSessionProfile(tx, organizationId, { profile }) {
    const { id, name, scope, expirationSeconds, notes, createdAt } = profile;
    const row = { id, organization_id: organizationId, name, scope, expiration_seconds: expirationSeconds, notes };
    await tx
      .insertInto("session_profiles")
      .values({ ...row, ...timesOf({ createdAt }) })
      .execute();
  },

  async putAllowlist(tx, organizationId, { allowlist, now }) {
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
  },

  removeAllowlist: (tx, organizationId, { id }) => deleteRows(tx, "ip_allowlists", { organizationId, id }),

  async addInvitation(tx, organizationId, { invitation, now }) {
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
        token_hash: invitation.tokenHash,
        expires_at: invitation.expiresAt,
        created_at: now,
        updated_at: now,
      })
      .execute();
  },

  revokeInvitation: (tx, organizationId, { id, now }) =>
    updateRows(tx, "invitations", { organizationId, id }, { status: "REVOKED", updated_at: now }),

  acceptInvitation: (tx, organizationId, { id, now }) =>
    updateRows(tx, "invitations", { organizationId, id }, { status: "ACCEPTED", updated_at: now }),

  async addInterface(tx, organizationId, { contract }) {
    const { id, type, address, lookup, label, notes, json, createdAt } = contract;
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
  },

  removeInterface: (tx, organizationId, { id }) => deleteRows(tx, "smart_contract_interfaces", { organizationId, id }),

  async setFeatures(tx, organizationId, { features }) {
    const rows = features.map(({ name, value }) => ({ organization_id: organizationId, name, value }));
    await tx
      .insertInto("organization_features")
      .values(rows)
      .onConflict((conflict) =>
        conflict.columns(["organization_id", "name"]).doUpdateSet((row) => ({ value: row.ref("excluded.value") })),
      )
      .execute();
  },

  async removeFeature(tx, organizationId, { name }) {
    await tx
      .deleteFrom("organization_features")
      .where("organization_id", "=", organizationId)
      .where("name", "=", name)
      .execute();
  },

  async setRootQuorum(tx, organizationId, { quorum, now }) {
    const { threshold, userIds } = quorum;
    await tx.deleteFrom("root_quorum_members").where("organization_id", "=", organizationId).execute();
    const members = userIds.map((user_id) => ({ organization_id: organizationId, user_id }));
    await tx.insertInto("root_quorum_members").values(members).execute();
    await tx
      .updateTable("organizations")
      .set({ quorum_threshold: threshold, updated_at: now })
      .where("id", "=", organizationId)
      .execute();
  },
} satisfies Partial<Writers>;
