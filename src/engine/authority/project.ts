import type { Change } from "../../authority/changes.ts";
import { expiryOf } from "../../authority/rules/credentials.ts";
import type { TagType } from "../../authority/state.ts";
import { changesOn, type Draft } from "../../authority/view.ts";
import type { Transactor } from "../../storage/engine.ts";
import { revoke } from "../identity/revocations.ts";
import { emptyState, onAuthority } from "./load.ts";

/**
 * Writes changes to the tables: the only code that writes a table of authority. It is the engine's, not the storage's, as
 * what a change means is not known below.
 */
export async function project(tx: Transactor, organizationId: string, changes: readonly Change[]): Promise<void> {
  const touched = new Map<string, number>();
  for (const change of changes) {
    await projectOne(tx, organizationId, change);
    for (const { userId, now } of touchedBy(change)) touched.set(userId, now);
  }
  await touchUsers(tx, organizationId, touched);
}

/** Changes the organization as `rules` decide, in a transaction that does more than that. */
export async function changeAuthority(
  tx: Transactor,
  organizationId: string,
  rules: (draft: Draft) => void,
): Promise<readonly Change[]> {
  const changes = await onAuthority(tx, organizationId, (view) => changesOn(view, rules));
  await project(tx, organizationId, changes);
  return changes;
}

/** The same of an organization that is being made, in which there is nothing yet. */
export async function fillAuthority(
  tx: Transactor,
  organizationId: string,
  rules: (draft: Draft) => void,
): Promise<readonly Change[]> {
  const changes = changesOn(emptyState(organizationId), rules);
  await project(tx, organizationId, changes);
  return changes;
}

/** The users whose own state a change is part of: they are shown, judged and cached under a version. */
function touchedBy(change: Change): { userId: string; now: number }[] {
  switch (change.do) {
    case "attachTag":
    case "detachTag":
    case "removeTag":
      if (change.type !== "TAG_TYPE_USER") return [];
      return change.memberIds.map((userId) => ({ userId, now: change.now }));
    case "changeUser":
    case "addApiKeys":
    case "removeApiKeys":
    case "addAuthenticators":
    case "addOauthProviders":
      return [change];
    default:
      return [];
  }
}

async function touchUsers(tx: Transactor, organizationId: string, touched: ReadonlyMap<string, number>): Promise<void> {
  for (const [now, users] of Map.groupBy(touched, ([, now]) => now)) {
    await tx
      .updateTable("users")
      .set((user) => ({ version: user("version", "+", 1), updated_at: now }))
      .where("organization_id", "=", organizationId)
      .where(
        "id",
        "in",
        users.map(([userId]) => userId),
      )
      .execute();
  }
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
      return;
    case "attachTag": {
      const { tagId, type, memberIds } = change;
      const rows = memberIds.map((member_id) => ({ organization_id: organizationId, tag_id: tagId, member_id }));
      await tx
        .insertInto(memberships[type])
        .values(rows)
        .onConflict((conflict) => conflict.doNothing())
        .execute();
      return;
    }
    case "detachTag": {
      const { tagId, type, memberIds } = change;
      await tx
        .deleteFrom(memberships[type])
        .where("organization_id", "=", organizationId)
        .where("tag_id", "=", tagId)
        .where("member_id", "in", [...memberIds])
        .execute();
      return;
    }
    case "addUser": {
      const { id, name, email, phoneNumber, createdAt, updatedAt } = change.user;
      const times = { created_at: createdAt, updated_at: updatedAt };
      const row = { id, organization_id: organizationId, name, email, phone_number: phoneNumber, version: 1, ...times };
      await tx.insertInto("users").values(row).execute();
      return;
    }
    case "changeUser": {
      const { userId, name, email, phoneNumber } = change;
      const given = {
        ...(name === undefined ? {} : { name }),
        ...(email === undefined ? {} : { email }),
        ...(phoneNumber === undefined ? {} : { phone_number: phoneNumber }),
      };
      if (Object.keys(given).length === 0) return;
      await tx
        .updateTable("users")
        .set(given)
        .where("organization_id", "=", organizationId)
        .where("id", "=", userId)
        .execute();
      return;
    }
    case "removeUser":
      // What is theirs goes with the row.
      await tx
        .deleteFrom("users")
        .where("organization_id", "=", organizationId)
        .where("id", "=", change.userId)
        .execute();
      return revoke(tx, organizationId, [change.userId], change.now);
    case "addApiKeys": {
      const { userId, apiKeys } = change;
      const rows = apiKeys.map((key) => ({
        id: key.id,
        organization_id: organizationId,
        user_id: userId,
        name: key.name,
        credential_type: key.type,
        public_key: key.publicKey,
        session_profile_id: key.sessionProfileId,
        expiration_seconds: key.expirationSeconds,
        expires_at: expiryOf(key),
        grade: key.grade,
        created_at: key.createdAt,
        updated_at: key.createdAt,
      }));
      await tx.insertInto("api_keys").values(rows).execute();
      return;
    }
    case "removeApiKeys": {
      const ids = change.apiKeys.map(({ id }) => id);
      await tx.deleteFrom("api_keys").where("organization_id", "=", organizationId).where("id", "in", ids).execute();
      if (change.takesVotesBack) await revoke(tx, organizationId, ids, change.now);
      return;
    }
    case "addAuthenticators": {
      const { userId, authenticators } = change;
      const rows = authenticators.map((authenticator) => ({
        id: authenticator.id,
        organization_id: organizationId,
        user_id: userId,
        name: authenticator.name,
        credential_id: authenticator.credentialId,
        public_key: authenticator.publicKey,
        aaguid: authenticator.aaguid,
        attestation_type: authenticator.attestationType,
        transports: JSON.stringify(authenticator.transports),
        rp_id_hash: authenticator.rpIdHash,
        origin: authenticator.origin,
        created_at: authenticator.createdAt,
        updated_at: authenticator.createdAt,
      }));
      await tx.insertInto("authenticators").values(rows).execute();
      return;
    }
    case "addOauthProviders": {
      const { userId, oauthProviders } = change;
      const rows = oauthProviders.map(({ id, name, issuer, audience, subject, createdAt }) => ({
        id,
        organization_id: organizationId,
        user_id: userId,
        name,
        issuer,
        audience,
        subject,
        created_at: createdAt,
        updated_at: createdAt,
      }));
      await tx.insertInto("oauth_providers").values(rows).execute();
      return;
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
