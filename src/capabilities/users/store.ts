import { enforceQuota } from "../../engine/quotas.ts";
import { fail } from "../../kernel/errors.ts";
import { newId } from "../../kernel/ids.ts";
import { MAX_USERS } from "../../kernel/limits.ts";
import type { Reader, Transactor } from "../../storage/engine.ts";
import { preparedWrite } from "../../storage/prepared.ts";
import {
  type ApiKeyParams,
  type CheckedApiKey,
  type CheckedAuthenticator,
  checkedApiKey,
  type OauthProviderParams,
} from "../credentials/model.ts";
import { addApiKeys, addAuthenticators, addOauthProviders } from "../credentials/store.ts";
import { replaceTags, userTags } from "../tags/store.ts";

/** @throws KeysteadError RESOURCE_NOT_FOUND naming the first user that the organization does not have */
export async function requireUsers(read: Reader, organizationId: string, userIds: readonly string[]): Promise<void> {
  if (userIds.length === 0) return;
  const rows = await read
    .selectFrom("users")
    .select("id")
    .where("organization_id", "=", organizationId)
    .where("id", "in", [...userIds])
    .execute();
  const known = new Set(rows.map(({ id }) => id));
  const id = userIds.find((userId) => !known.has(userId));
  if (id !== undefined) fail("RESOURCE_NOT_FOUND", { kind: "user", id, organizationId });
}

export interface UserChange {
  name?: string;
  email?: string;
  phone_number?: string;
}

/**
 * Changes a user, or marks one as changed whose credentials or tags are: its version rises, so that nothing derived from
 * the old state is used again.
 *
 * @throws KeysteadError RESOURCE_NOT_FOUND
 */
export async function changeUser(
  tx: Transactor,
  organizationId: string,
  userId: string,
  now: number,
  change: UserChange = {},
): Promise<void> {
  const { name = null, email = null, phone_number: phoneNumber = null } = change;
  const changed = await updateUser(tx, { organizationId, userId, name, email, phoneNumber, now });
  if (changed.length === 0) fail("RESOURCE_NOT_FOUND", { kind: "user", id: userId, organizationId });
}

/** What is null stays as it is. */
const updateUser = preparedWrite<{
  organizationId: string;
  userId: string;
  name: string | null;
  email: string | null;
  phoneNumber: string | null;
  now: number;
}>()((db, { organizationId, userId, name, email, phoneNumber, now }) =>
  db
    .updateTable("users")
    .set((user) => ({
      name: user.fn.coalesce(user.val(name), user.ref("name")),
      email: user.fn.coalesce(user.val(email), user.ref("email")),
      phone_number: user.fn.coalesce(user.val(phoneNumber), user.ref("phone_number")),
      version: user("version", "+", 1),
      updated_at: now,
    }))
    .where("organization_id", "=", organizationId)
    .where("id", "=", userId)
    .returning("id"),
);

export interface NewUser {
  id?: string;
  name: string;
  email?: string | undefined;
  phoneNumber?: string | undefined;
  apiKeys: readonly CheckedApiKey[];
  authenticators: readonly CheckedAuthenticator[];
  oauthProviders: readonly OauthProviderParams[];
  tagIds: readonly string[];
}

/** A user as requests describe one, its passkeys verified. */
export const newUserOf = (
  params: {
    userName: string;
    userEmail?: string;
    userPhoneNumber?: string;
    apiKeys: readonly ApiKeyParams[];
    oauthProviders: readonly OauthProviderParams[];
  },
  authenticators: readonly CheckedAuthenticator[],
  tagIds: readonly string[],
): NewUser => ({
  name: params.userName,
  email: params.userEmail,
  phoneNumber: params.userPhoneNumber,
  apiKeys: params.apiKeys.map(checkedApiKey),
  authenticators,
  oauthProviders: params.oauthProviders,
  tagIds,
});

/** Adds a user with its credentials and tags; `field` is where the user stands in the request. */
export async function addUser(
  tx: Transactor,
  organizationId: string,
  user: NewUser,
  now: number,
  field: string,
): Promise<string> {
  const { id = newId(), name, email, phoneNumber, apiKeys, authenticators, oauthProviders, tagIds } = user;
  refuseUnreachable(user);
  await tx
    .insertInto("users")
    .values({
      id,
      organization_id: organizationId,
      name,
      email: email ?? null,
      phone_number: phoneNumber ?? null,
      version: 1,
      created_at: now,
      updated_at: now,
    })
    .execute();
  const owner = { tx, organizationId, userId: id, now };
  await addApiKeys(owner, apiKeys, `${field}.apiKeys`);
  await addAuthenticators(owner, authenticators, `${field}.authenticators`);
  await addOauthProviders(owner, oauthProviders, `${field}.oauthProviders`);
  await replaceTags({ tx, organizationId, kind: userTags }, id, tagIds);
  return id;
}

/** A user needs a lasting credential, or a way in by sign-in once that is there: an address, or an OAuth provider. */
function refuseUnreachable({ name, email, phoneNumber, apiKeys, authenticators, oauthProviders }: NewUser): void {
  const canSign = authenticators.length > 0 || apiKeys.some(({ expirationSeconds }) => expirationSeconds === null);
  const canSignIn = email !== undefined || phoneNumber !== undefined || oauthProviders.length > 0;
  if (!canSign && !canSignIn) fail("VALID_CREDENTIAL_MISSING", { user: name });
}

/** @throws KeysteadError QUOTA_EXCEEDED when the organization has more users than it may */
export const enforceUserLimit = (tx: Transactor, organizationId: string): Promise<void> =>
  enforceQuota(tx, { table: "users", kind: "users", limit: MAX_USERS }, { organization_id: organizationId });
