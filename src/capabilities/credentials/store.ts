import type { DecisionBudget } from "../../engine/decisions/budget.ts";
import { canRemoveMfa, canShow } from "../../engine/decisions/mfa.ts";
import { findRootQuorum } from "../../engine/decisions/root-quorum.ts";
import { revoke } from "../../engine/identity/revocations.ts";
import { loadUser, type User } from "../../engine/identity/users.ts";
import { oldestFirst } from "../../engine/paging.ts";
import { enforceQuota, refuseExcess } from "../../engine/quotas.ts";
import { fail } from "../../kernel/errors.ts";
import { newId } from "../../kernel/ids.ts";
import {
  MAX_AUTHENTICATORS_PER_USER,
  MAX_EXPIRING_API_KEYS_PER_USER,
  MAX_LASTING_API_KEYS_PER_USER,
  MAX_OAUTH_PROVIDERS_PER_USER,
} from "../../kernel/limits.ts";
import type { Reader, Transactor } from "../../storage/engine.ts";
import type { CheckedApiKey, CheckedAuthenticator, OauthProviderParams } from "./model.ts";

/** The credentials of one user, added and removed under the rules that hold for all of them. */

interface Owner {
  tx: Transactor;
  organizationId: string;
  userId: string;
  /** Milliseconds. */
  now: number;
}

/** Adds API keys; expiring ones beyond the limit push out the expired and then the oldest. */
export async function addApiKeys(owner: Owner, apiKeys: readonly CheckedApiKey[], field: string): Promise<string[]> {
  const { tx, organizationId, userId, now } = owner;
  if (apiKeys.length === 0) return [];
  await refuseKnownKeys(owner, apiKeys, field);
  const rows = apiKeys.map(({ name, publicKey, type, expirationSeconds }) => ({
    id: newId(),
    organization_id: organizationId,
    user_id: userId,
    name,
    credential_type: type,
    public_key: publicKey,
    session_profile_id: null,
    expiration_seconds: expirationSeconds,
    expires_at: expirationSeconds === null ? null : now + expirationSeconds * 1000,
    created_at: now,
    updated_at: now,
  }));
  await tx.insertInto("api_keys").values(rows).execute();
  await enforceApiKeyLimits(owner);
  return rows.map(({ id }) => id);
}

async function refuseKnownKeys(
  { tx, organizationId }: Owner,
  apiKeys: readonly CheckedApiKey[],
  field: string,
): Promise<void> {
  const known = await tx
    .selectFrom("api_keys")
    .select("public_key")
    .where("organization_id", "=", organizationId)
    .where(
      "public_key",
      "in",
      apiKeys.map(({ publicKey }) => publicKey),
    )
    .executeTakeFirst();
  if (!known) return;
  const index = apiKeys.findIndex(({ publicKey }) => publicKey === known.public_key);
  const reason = "belongs to an API key of this organization already";
  fail("RESOURCE_EXISTS", { kind: "API key", field: `${field}.${index}.publicKey`, reason });
}

async function enforceApiKeyLimits({ tx, organizationId, userId, now }: Owner): Promise<void> {
  const keys = await tx
    .selectFrom("api_keys")
    .select(["id", "expires_at"])
    .where("organization_id", "=", organizationId)
    .where("user_id", "=", userId)
    .execute();
  keys.sort(oldestFirst);
  const lasting = keys.filter(({ expires_at }) => expires_at === null);
  refuseExcess(lasting.length, { kind: "long-lived api keys", limit: MAX_LASTING_API_KEYS_PER_USER, perUser: true });
  const expiring = keys.filter(({ expires_at }) => expires_at !== null);
  const isExpired = ({ expires_at }: { expires_at: number | null }) => (expires_at ?? now) <= now;
  const byUse = [...expiring.filter(isExpired), ...expiring.filter((key) => !isExpired(key))];
  const pushedOut = byUse.slice(0, Math.max(0, expiring.length - MAX_EXPIRING_API_KEYS_PER_USER));
  if (pushedOut.length === 0) return;
  await tx
    .deleteFrom("api_keys")
    .where("organization_id", "=", organizationId)
    .where(
      "id",
      "in",
      pushedOut.map(({ id }) => id),
    )
    .execute();
}

export async function addAuthenticators(
  owner: Owner,
  authenticators: readonly CheckedAuthenticator[],
  field: string,
): Promise<string[]> {
  const { tx, organizationId, userId, now } = owner;
  if (authenticators.length === 0) return [];
  await refuseKnownAuthenticators(owner, authenticators, field);
  const rows = authenticators.map((authenticator) => ({
    id: newId(),
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
    created_at: now,
    updated_at: now,
  }));
  await tx.insertInto("authenticators").values(rows).execute();
  const quota = { kind: "authenticators", limit: MAX_AUTHENTICATORS_PER_USER, perUser: true } as const;
  await enforceQuota(tx, { table: "authenticators", ...quota }, { organization_id: organizationId, user_id: userId });
  return rows.map(({ id }) => id);
}

async function refuseKnownAuthenticators(
  { tx, organizationId }: Owner,
  authenticators: readonly CheckedAuthenticator[],
  field: string,
): Promise<void> {
  const ids = authenticators.map(({ credentialId }) => credentialId);
  const known = await tx
    .selectFrom("authenticators")
    .select("credential_id")
    .where("organization_id", "=", organizationId)
    .where("credential_id", "in", ids)
    .executeTakeFirst();
  const again = known ? ids.indexOf(known.credential_id) : ids.findIndex((id, index) => ids.indexOf(id) < index);
  if (again < 0) return;
  const reason = "belongs to an authenticator of this organization already";
  fail("RESOURCE_EXISTS", { kind: "authenticator", field: `${field}.${again}.attestation.credentialId`, reason });
}

export async function addOauthProviders(
  { tx, organizationId, userId, now }: Owner,
  providers: readonly OauthProviderParams[],
  field: string,
): Promise<string[]> {
  refuseExcess(providers.length, { kind: "OAuth providers", limit: MAX_OAUTH_PROVIDERS_PER_USER, perUser: true });
  const ids: string[] = [];
  for (const [index, { providerName, oidcClaims }] of providers.entries()) {
    const { iss, sub, aud } = oidcClaims as NonNullable<typeof oidcClaims>;
    const known = await tx
      .selectFrom("oauth_providers")
      .select("id")
      .where("organization_id", "=", organizationId)
      .where("issuer", "=", iss)
      .where("audience", "=", aud)
      .where("subject", "=", sub)
      .executeTakeFirst();
    if (known) {
      const reason = "belongs to a user of this organization already";
      fail("RESOURCE_EXISTS", { kind: "OAuth provider", field: `${field}.${index}.oidcClaims`, reason });
    }
    const id = newId();
    ids.push(id);
    await tx
      .insertInto("oauth_providers")
      .values({
        id,
        organization_id: organizationId,
        user_id: userId,
        name: providerName,
        issuer: iss,
        audience: aud,
        subject: sub,
        created_at: now,
        updated_at: now,
      })
      .execute();
  }
  return ids;
}

const deletable = {
  api_keys: { kind: "API key", field: "parameters.apiKeyIds" },
  authenticators: { kind: "authenticator", field: "parameters.authenticatorIds" },
} as const;

/**
 * Deletes the named credentials of one kind, and takes back the votes given with them in what is still open; one unknown id and
 * nothing changes. A user keeps a lasting credential, and those that their MFA policies name: whoever has none left, or cannot
 * show them, could never come back.
 */
export async function deleteCredentials(
  owner: Owner,
  table: keyof typeof deletable,
  ids: readonly string[],
  budget: DecisionBudget,
): Promise<void> {
  const { tx, organizationId, userId, now } = owner;
  const { kind, field } = deletable[table];
  const before = await loadUser(tx, organizationId, userId);
  const hadLasting = await hasLastingCredential(owner);
  for (const id of new Set(ids)) {
    const deleted = await tx
      .deleteFrom(table)
      .where("organization_id", "=", organizationId)
      .where("user_id", "=", userId)
      .where("id", "=", id)
      .executeTakeFirst();
    if (deleted.numDeletedRows === 0n) fail("RESOURCE_NOT_FOUND", { kind, id, organizationId });
  }
  await revoke(tx, organizationId, ids, now);
  if (hadLasting && !(await hasLastingCredential(owner))) fail("VALID_CREDENTIAL_MISSING", { user: userId });
  if (!before || before.mfaPolicies.length === 0) return;
  await refuseNamedByMfa(owner, before, ids, field);
  await refuseShortQuorum(tx, organizationId, userId, budget);
}

/** @throws KeysteadError FIELD_INVALID for what an MFA policy of the user names, unless another method does as well */
async function refuseNamedByMfa(
  { tx, organizationId, userId }: Owner,
  { mfaPolicies }: User,
  deleted: readonly string[],
  field: string,
): Promise<void> {
  const user = await loadUser(tx, organizationId, userId);
  for (const { mfaPolicyId, mfaPolicyName, requiredAuthenticationMethods: groups } of mfaPolicies) {
    const named = groups.filter(({ any }) => any.some(({ id }) => id !== undefined && deleted.includes(id)));
    if (user && canShow(user, named)) continue;
    const reason = `holds what the user's MFA policy ${mfaPolicyName} (${mfaPolicyId}) asks for; change that policy first`;
    fail("FIELD_INVALID", { field, reason });
  }
}

const hasLastingCredential = async ({ tx, organizationId, userId }: Owner): Promise<boolean> =>
  (await findLastingHolders(tx, organizationId, [userId])).size > 0;

/**
 * Those of the users who hold a credential that lasts and works in this release: a passkey, or an API key without expiry. An
 * e-mail address or an OAuth provider is a way in once sign-in is there.
 */
async function findLastingHolders(
  read: Reader,
  organizationId: string,
  userIds: readonly string[],
): Promise<Set<string>> {
  const keys = await read
    .selectFrom("api_keys")
    .select("user_id")
    .where("organization_id", "=", organizationId)
    .where("user_id", "in", [...userIds])
    .where("expires_at", "is", null)
    .execute();
  const passkeys = await read
    .selectFrom("authenticators")
    .select("user_id")
    .where("organization_id", "=", organizationId)
    .where("user_id", "in", [...userIds])
    .execute();
  return new Set([...keys, ...passkeys].map(({ user_id }) => user_id));
}

/**
 * Those of the users who can sign whenever they are asked: they have a lasting credential, and no MFA policy of theirs locks
 * them out. It stops where there are `enough`.
 */
export async function findSigners(
  read: Reader,
  organizationId: string,
  userIds: readonly string[],
  enough: number,
  budget: DecisionBudget,
): Promise<string[]> {
  const lasting = await findLastingHolders(read, organizationId, userIds);
  const signers: string[] = [];
  for (const id of userIds) {
    if (signers.length >= enough) break;
    const user = lasting.has(id) ? await loadUser(read, organizationId, id) : undefined;
    if (user && (await canRemoveMfa(read, organizationId, user, budget))) signers.push(id);
  }
  return signers;
}

/** @throws KeysteadError QUORUM_USERS_MISSING where a member of the root quorum who cannot sign leaves it without its threshold */
export async function refuseShortQuorum(
  read: Reader,
  organizationId: string,
  userId: string,
  budget: DecisionBudget,
): Promise<void> {
  const { threshold, userIds } = await findRootQuorum(read, organizationId);
  if (!userIds.includes(userId)) return;
  const signers = await findSigners(read, organizationId, userIds, threshold, budget);
  if (signers.length >= threshold || signers.includes(userId)) return;
  const reason = `user ${userId} is in the root quorum, and their MFA policies would ask even for their own removal what the user does not have: a passkey, or an API key without expiry. Give them that first`;
  fail("QUORUM_USERS_MISSING", { reason });
}
