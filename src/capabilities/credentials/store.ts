import type { DecisionBudget } from "../../engine/decisions/budget.ts";
import { canRemoveMfa, canShow } from "../../engine/decisions/mfa.ts";
import { findRootQuorum } from "../../engine/decisions/root-quorum.ts";
import { revoke } from "../../engine/identity/revocations.ts";
import { loadUser, type User } from "../../engine/identity/users.ts";
import { fail } from "../../kernel/errors.ts";
import type { Reader, Transactor } from "../../storage/engine.ts";

/** The credentials of one user, removed under the rules that hold for all of them. */

interface Owner {
  tx: Transactor;
  organizationId: string;
  userId: string;
  /** Milliseconds. */
  now: number;
}

const deletable = {
  api_keys: { kind: "API key", field: "parameters.apiKeyIds" },
  authenticators: { kind: "authenticator", field: "parameters.authenticatorIds" },
  oauth_providers: { kind: "OAuth provider", field: "parameters.providerIds" },
} as const;

/**
 * Deletes the named credentials of one kind, and takes back the votes given with them in what is still open; one unknown id and
 * nothing changes. A user keeps a lasting credential (who deletes OAuth providers: that, or another provider), and those that their MFA policies name: whoever has none left, or cannot
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
  const hasWayIn = table === "oauth_providers" ? hasLastingOrProvider : hasLastingCredential;
  const hadWayIn = await hasWayIn(owner);
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
  if (hadWayIn && !(await hasWayIn(owner))) fail("VALID_CREDENTIAL_MISSING", { user: userId });
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

/** An issuer that knows the user is a way in, but not one to sign with when the root quorum is asked. */
async function hasLastingOrProvider(owner: Owner): Promise<boolean> {
  const { tx, organizationId, userId } = owner;
  const provider = await tx
    .selectFrom("oauth_providers")
    .select("id")
    .where("organization_id", "=", organizationId)
    .where("user_id", "=", userId)
    .limit(1)
    .executeTakeFirst();
  return provider !== undefined || hasLastingCredential(owner);
}

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
