import { type Expression, sql } from "kysely";
import { contactCredential } from "../../authority/attested.ts";
import type { Change } from "../../authority/changes.ts";
import { expiryOf } from "../../authority/rules/credentials.ts";
import type { Contact, ContactType, TagType } from "../../authority/state.ts";
import { changesOn, type Draft } from "../../authority/view.ts";
import { nextTurn } from "../../kernel/next-turn.ts";
import { isHeld } from "../../kernel/turns.ts";
import type { Transactor } from "../../storage/engine.ts";
import { DatabaseFailure } from "../../storage/failure.ts";
import { laterInsert, laterUpdate, preparedWrite } from "../../storage/prepared.ts";
import { applyChanges, isOfPolicies, knownAuthority } from "./known.ts";
import { onAuthority, onNewAuthority } from "./load.ts";

/**
 * Writes changes of authority to the tables; the few others that write these tables are named by test/authority/writers.test.ts. It is the
 * engine's, not the storage's, as what a change means is not known below.
 */
export function project(tx: Transactor, organizationId: string, changes: readonly Change[]): Promise<void> {
  return tx.changing(knownAuthority, async (known) => {
    await write(tx, organizationId, changes);
    applyChanges(known, organizationId, changes);
  });
}

async function write(tx: Transactor, organizationId: string, changes: readonly Change[]): Promise<void> {
  const touched = new Map<string, number>();
  for (const change of changes) {
    // On SQLite nothing else has the event loop go round. No turn is waited for: others wait for this transaction.
    if (isHeld()) await nextTurn();
    await projectOne(tx, organizationId, change);
    for (const { userId, now } of touchedBy(change)) touched.set(userId, now);
  }
  await touchUsers(tx, organizationId, touched);
  if (changes.some(isOfPolicies)) await tx.later(changedPolicies, { id: organizationId, times: 1 });
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
  const changes = await onNewAuthority(tx, organizationId, (view) => changesOn(view, rules));
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
    case "addApiKeys":
    case "removeApiKeys":
    case "addAuthenticators":
    case "removeAuthenticators":
    case "addOauthProviders":
    case "removeOauthProviders":
    case "addMfaPolicy":
    case "changeMfaPolicy":
    case "removeMfaPolicy":
      return [change];
    default:
      return [];
  }
}

/** Every process reads the organization's policies afresh with the next stamp. */
const changedPolicies = laterUpdate("organizations", {
  by: { id: "text" },
  given: { times: "integer" },
  set: { policies_version: '"organizations"."policies_version" + "new"."times"' },
  merged: (before, after) => ({ ...after, times: (before.times ?? 0) + (after.times ?? 0) }),
});

const newTags = laterInsert(
  "tags",
  { id: "text", organization_id: "text", type: "text", name: "text", created_at: "integer", updated_at: "integer" },
  { referredToBy: ["user_tag_members", "private_key_tag_members"] },
);

const newApiKeys = laterInsert("api_keys", {
  id: "text",
  organization_id: "text",
  user_id: "text",
  name: "text",
  credential_type: "text",
  public_key: "text",
  session_profile_id: "text",
  expiration_seconds: "integer",
  expires_at: "integer",
  grade: "text",
  created_at: "integer",
  updated_at: "integer",
});

const newPolicies = laterInsert("policies", {
  id: "text",
  organization_id: "text",
  name: "text",
  effect: "text",
  consensus: "text",
  condition: "text",
  time: "text",
  notes: "text",
  created_at: "integer",
  updated_at: "integer",
});

const newPrivateKeys = laterInsert(
  "private_keys",
  {
    id: "text",
    organization_id: "text",
    name: "text",
    curve: "text",
    public_key: "text",
    sealed_key: "bytes",
    exported: "integer",
    imported: "integer",
    created_at: "integer",
    updated_at: "integer",
  },
  { referredToBy: ["private_key_addresses", "private_key_tag_members"] },
);

async function touchUsers(tx: Transactor, organizationId: string, touched: ReadonlyMap<string, number>): Promise<void> {
  const unchanged = { name: null, email: null, phone_number: null };
  for (const [now, users] of Map.groupBy(touched, ([, now]) => now)) {
    const ids = users.map(([userId]) => userId);
    const [userId] = ids;
    // The common case, in a sign-in, is one user.
    if (ids.length === 1 && userId !== undefined) {
      await tx.later(changedUsers, { ...changedUser(organizationId, userId, now), ...unchanged });
      continue;
    }
    await tx
      .updateTable("users")
      .set((user) => ({ version: user("version", "+", 1), updated_at: now }))
      .where("organization_id", "=", organizationId)
      .where("id", "in", ids)
      .execute();
  }
}

/** What is to go is set to an empty text, which no contact is. */
const REMOVED = "";
const contactOf = (column: "email" | "phone_number") =>
  `nullif(coalesce("new"."${column}", "users"."${column}"), '${REMOVED}')`;

/** What is null stays as it is, what is empty goes. The version rises, so that nothing derived from the old state is used again. */
const changedUsers = laterUpdate("users", {
  by: { organization_id: "text", id: "text" },
  given: { name: "text", email: "text", phone_number: "text", times: "integer", updated_at: "integer" },
  set: {
    name: 'coalesce("new"."name", "users"."name")',
    email: contactOf("email"),
    phone_number: contactOf("phone_number"),
    version: '"users"."version" + "new"."times"',
    updated_at: '"new"."updated_at"',
  },
  merged: (before, after) => ({
    ...after,
    name: after.name ?? before.name,
    email: after.email ?? before.email,
    phone_number: after.phone_number ?? before.phone_number,
    times: (before.times ?? 0) + (after.times ?? 0),
  }),
});

const changedUser = (organizationId: string, userId: string, now: number) => ({
  organization_id: organizationId,
  id: userId,
  times: 1,
  updated_at: now,
});

const contactToStore = (given: string | null | undefined): string | null =>
  given === undefined ? null : (given ?? REMOVED);

/** The parent of an organization, or the organization itself where it has none. */
const rootIdOf = (organizationId: string | Expression<string>) =>
  sql<string>`(select coalesce(o.parent_id, o.id) from organizations o where o.id = ${organizationId})`;

/** Of a parent and all below it one user has a contact verified. */
const insertVerifiedContact = preparedWrite<{
  organizationId: string;
  userId: string;
  type: ContactType;
  value: string;
  now: number;
}>()((db, { organizationId, userId, type, value, now }) =>
  db
    .insertInto("verified_contacts")
    .values({
      root_id: rootIdOf(organizationId),
      type,
      contact: value,
      organization_id: organizationId,
      user_id: userId,
      created_at: now,
    })
    .onConflict((conflict) => conflict.columns(["root_id", "type", "contact"]).doNothing())
    .returning("user_id"),
);

async function removeRows(
  tx: Transactor,
  table: "api_keys" | "authenticators" | "oauth_providers" | "private_keys",
  organizationId: string,
  gone: readonly { id: string }[],
): Promise<void> {
  const ids = gone.map(({ id }) => id);
  await tx.deleteFrom(table).where("organization_id", "=", organizationId).where("id", "in", ids).execute();
}

/** How votes are held against this: `engine/identity/revocations.ts`. */
async function takeVotesBack(
  tx: Transactor,
  organizationId: string,
  gone: readonly { id: string }[],
  now: number,
): Promise<void> {
  const rows = gone.map(({ id }) => ({ organization_id: organizationId, id, revoked_at: now }));
  await tx
    .insertInto("revocations")
    .values(rows)
    .onConflict((conflict) => conflict.columns(["organization_id", "id"]).doUpdateSet({ revoked_at: now }))
    .execute();
}

/** A contact is the same for whoever has it, and for who has it again. */
const stampsByContact = (userId: string, contact: Contact): string => `${userId} ${contactCredential(contact).id}`;

/** Who has none is not asked for any: a user's row says how many there are. */
async function countMfaPolicies(
  tx: Transactor,
  { organizationId, userId, more }: { organizationId: string; userId: string; more: number },
): Promise<void> {
  await tx
    .updateTable("users")
    .set((user) => ({ mfa_policies: user("mfa_policies", "+", more) }))
    .where("organization_id", "=", organizationId)
    .where("id", "=", userId)
    .execute();
}

const memberships = {
  TAG_TYPE_USER: "user_tag_members",
  TAG_TYPE_PRIVATE_KEY: "private_key_tag_members",
} as const satisfies Record<TagType, string>;

async function projectOne(tx: Transactor, organizationId: string, change: Change): Promise<void> {
  switch (change.do) {
    case "addTag": {
      const { id, type, name, createdAt, updatedAt } = change.tag;
      const times = { created_at: createdAt, updated_at: updatedAt };
      await tx.later(newTags, { id, organization_id: organizationId, type, name, ...times });
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
      await tx
        .insertInto("users")
        .values({ ...row, root_id: rootIdOf(organizationId) })
        .execute();
      return;
    }
    case "changeUser": {
      const { userId, name = null, now } = change;
      const [email, phoneNumber] = [contactToStore(change.email), contactToStore(change.phoneNumber)];
      const given = { name, email, phone_number: phoneNumber };
      await tx.later(changedUsers, { ...changedUser(organizationId, userId, now), ...given });
      return;
    }
    case "verifyContact": {
      const { userId, contact, now } = change;
      const inserted = await insertVerifiedContact(tx, { organizationId, userId, now, ...contact });
      // Another transaction verified it meanwhile, in an organization beside this one; the next try finds who has it.
      if (inserted.length === 0) throw new DatabaseFailure("retry", "the contact is taken");
      return;
    }
    case "unverifyContact":
      await tx
        .deleteFrom("verified_contacts")
        .where("organization_id", "=", organizationId)
        .where("user_id", "=", change.userId)
        .where("type", "=", change.contact.type)
        .execute();
      return;
    case "loseContact":
      return takeVotesBack(tx, organizationId, [{ id: stampsByContact(change.userId, change.contact) }], change.now);
    case "removeUser":
      // What is theirs goes with the row.
      await tx
        .deleteFrom("users")
        .where("organization_id", "=", organizationId)
        .where("id", "=", change.userId)
        .execute();
      return takeVotesBack(tx, organizationId, [{ id: change.userId }], change.now);
    case "addApiKeys": {
      const { userId, apiKeys } = change;
      for (const key of apiKeys)
        await tx.later(newApiKeys, {
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
        });
      return;
    }
    case "removeApiKeys":
      await removeRows(tx, "api_keys", organizationId, change.apiKeys);
      if (change.takesVotesBack) await takeVotesBack(tx, organizationId, change.apiKeys, change.now);
      return;
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
    case "removeAuthenticators":
      await removeRows(tx, "authenticators", organizationId, change.authenticators);
      return takeVotesBack(tx, organizationId, change.authenticators, change.now);
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
    case "removeOauthProviders":
      await removeRows(tx, "oauth_providers", organizationId, change.oauthProviders);
      return takeVotesBack(tx, organizationId, change.oauthProviders, change.now);
    case "addMfaPolicy": {
      const { userId, policy } = change;
      const { id, name, condition, requiredMethods, order, notes, createdAt, updatedAt } = policy;
      const row = { id, organization_id: organizationId, user_id: userId, name, condition, position: order, notes };
      const times = { created_at: createdAt, updated_at: updatedAt };
      await tx
        .insertInto("mfa_policies")
        .values({ ...row, required_methods: JSON.stringify(requiredMethods), ...times })
        .execute();
      return countMfaPolicies(tx, { organizationId, userId, more: 1 });
    }
    case "changeMfaPolicy": {
      const { requiredMethods, order, ...texts } = change.change;
      await tx
        .updateTable("mfa_policies")
        .set({
          ...texts,
          ...(requiredMethods === undefined ? {} : { required_methods: JSON.stringify(requiredMethods) }),
          ...(order === undefined ? {} : { position: order }),
          updated_at: change.now,
        })
        .where("organization_id", "=", organizationId)
        .where("id", "=", change.mfaPolicyId)
        .execute();
      return;
    }
    case "removeMfaPolicy":
      await tx
        .deleteFrom("mfa_policies")
        .where("organization_id", "=", organizationId)
        .where("id", "=", change.mfaPolicyId)
        .execute();
      return countMfaPolicies(tx, { organizationId, userId: change.userId, more: -1 });
    case "addPolicies": {
      for (const { createdAt, updatedAt, ...policy } of change.policies) {
        const times = { created_at: createdAt, updated_at: updatedAt };
        await tx.later(newPolicies, { ...policy, organization_id: organizationId, ...times });
      }
      return;
    }
    case "changePolicy":
      await tx
        .updateTable("policies")
        .set({ ...change.change, updated_at: change.now })
        .where("organization_id", "=", organizationId)
        .where("id", "=", change.policyId)
        .execute();
      return;
    case "removePolicies":
      await tx
        .deleteFrom("policies")
        .where("organization_id", "=", organizationId)
        .where("id", "in", [...change.policyIds])
        .execute();
      return;
    case "addPrivateKeys": {
      for (const key of change.privateKeys)
        await tx.later(newPrivateKeys, {
          id: key.id,
          organization_id: organizationId,
          name: key.name,
          curve: key.curve,
          public_key: key.publicKey,
          sealed_key: key.sealedKey,
          exported: key.exported ? 1 : 0,
          imported: key.imported ? 1 : 0,
          created_at: key.createdAt,
          updated_at: key.updatedAt,
        });
      return;
    }
    case "removePrivateKeys":
      // Their addresses go with the rows, and what tags they carry.
      return removeRows(tx, "private_keys", organizationId, change.privateKeys);
    case "markPrivateKeyExported":
      await tx
        .updateTable("private_keys")
        .set({ exported: 1, updated_at: change.now })
        .where("organization_id", "=", organizationId)
        .where("id", "=", change.id)
        .execute();
      return;
    case "addWallet": {
      const { id, name, sealedWallet, imported, exported, createdAt, updatedAt } = change.wallet;
      const row = { id, organization_id: organizationId, name, sealed_wallet: sealedWallet };
      const flags = { exported: exported ? 1 : 0, imported: imported ? 1 : 0 };
      const times = { created_at: createdAt, updated_at: updatedAt };
      await tx
        .insertInto("wallets")
        .values({ ...row, ...flags, ...times })
        .execute();
      return;
    }
    case "renameWallet":
    case "markWalletExported": {
      const named = change.do === "renameWallet" && change.name !== undefined ? { name: change.name } : {};
      await tx
        .updateTable("wallets")
        .set({ ...named, ...(change.do === "markWalletExported" ? { exported: 1 } : {}), updated_at: change.now })
        .where("organization_id", "=", organizationId)
        .where("id", "=", change.id)
        .execute();
      return;
    }
    case "removeWallets":
      // Their accounts go with the rows.
      await tx
        .deleteFrom("wallets")
        .where("organization_id", "=", organizationId)
        .where("id", "in", [...change.ids])
        .execute();
      return;
    case "addSecrets": {
      const rows = change.secrets.map(({ id, name, staticProperties, sealedSecret, exported, createdAt }) => ({
        id,
        organization_id: organizationId,
        name,
        static_properties: JSON.stringify(staticProperties),
        sealed_secret: sealedSecret,
        exported: exported ? 1 : 0,
        created_at: createdAt,
      }));
      await tx.insertInto("secrets").values(rows).execute();
      return;
    }
    case "markSecretsExported":
      await tx
        .updateTable("secrets")
        .set({ exported: 1 })
        .where("organization_id", "=", organizationId)
        .where("id", "in", [...change.ids])
        .execute();
      return;
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
          token_hash: invitation.tokenHash,
          expires_at: invitation.expiresAt,
          created_at: now,
          updated_at: now,
        })
        .execute();
      return;
    }
    case "revokeInvitation":
    case "acceptInvitation":
      await tx
        .updateTable("invitations")
        .set({ status: change.do === "acceptInvitation" ? "ACCEPTED" : "REVOKED", updated_at: change.now })
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
    case "setFeatures": {
      const rows = change.features.map(({ name, value }) => ({ organization_id: organizationId, name, value }));
      await tx
        .insertInto("organization_features")
        .values(rows)
        .onConflict((conflict) =>
          conflict.columns(["organization_id", "name"]).doUpdateSet((row) => ({ value: row.ref("excluded.value") })),
        )
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
    case "setRootQuorum": {
      const { threshold, userIds } = change.quorum;
      await tx.deleteFrom("root_quorum_members").where("organization_id", "=", organizationId).execute();
      const members = userIds.map((user_id) => ({ organization_id: organizationId, user_id }));
      await tx.insertInto("root_quorum_members").values(members).execute();
      await tx
        .updateTable("organizations")
        .set({ quorum_threshold: threshold, updated_at: change.now })
        .where("id", "=", organizationId)
        .execute();
      return;
    }
  }
}
