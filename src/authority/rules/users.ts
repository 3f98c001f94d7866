import { fail } from "../../kernel/errors.ts";
import { refuseOver } from "../quotas.ts";
import { ALL, contactAt, contactOf, type PartKind, providerAt } from "../state.ts";
import type { AuthorityView, Draft } from "../view.ts";
import { releaseChanged, verifyShownContacts } from "./contacts.ts";
import {
  addApiKeys,
  addAuthenticators,
  addOauthProviders,
  includesLasting,
  type NewApiKey,
  type NewAuthenticator,
  type NewOauthProvider,
} from "./credentials.ts";
import { setTagsOfUser } from "./tags.ts";
import { refuseUnknown } from "./unknown.ts";

export interface NewUser {
  id: string;
  name: string;
  email?: string | undefined;
  phoneNumber?: string | undefined;
  apiKeys: readonly NewApiKey[];
  authenticators: readonly NewAuthenticator[];
  oauthProviders: readonly NewOauthProvider[];
  tagIds: readonly string[];
}

/**
 * Adds users in the given order. `fieldOf` names the field of a user in the request.
 *
 * @throws KeysteadError QUOTA_EXCEEDED, and as `addUser`
 */
export function addUsers(
  draft: Draft,
  users: readonly NewUser[],
  now: number,
  fieldOf: (index: number) => string,
): void {
  // Everything that adding them reads is requested at once, so that it is loaded together.
  const lookUp = (kind: PartKind, idsOf: (user: NewUser) => readonly string[]) =>
    draft.parts(kind, users.flatMap(idsOf));
  lookUp("apiKeyId", ({ apiKeys }) => apiKeys.map(({ publicKey }) => publicKey));
  lookUp("authenticatorId", ({ authenticators }) => authenticators.map(({ credentialId }) => credentialId));
  lookUp("oauthProviderId", ({ oauthProviders }) => oauthProviders.map(providerAt));
  lookUp("contactHolder", ({ oauthProviders }) => oauthProviders.flatMap(shownContactOf));
  lookUp("tag", ({ tagIds }) => tagIds);
  for (const [index, user] of users.entries()) addUser(draft, user, now, fieldOf(index));
  refuseOver(draft.part("quotas", ALL), "users", draft.part("userCount", ALL));
}

const shownContactOf = ({ verifiedEmail }: NewOauthProvider): string[] =>
  verifiedEmail === undefined ? [] : [contactAt(contactOf("EMAIL", verifiedEmail))];

/**
 * Adds a user with credentials and tags. `field` names the user's field in the request.
 *
 * @throws KeysteadError VALID_CREDENTIAL_MISSING for a user who could never sign in, and as the rules for credentials and tags
 */
export function addUser(draft: Draft, user: NewUser, now: number, field: string): void {
  const { id, name, email, phoneNumber, apiKeys, authenticators, oauthProviders, tagIds } = user;
  refuseUnreachable(user);
  const times = { createdAt: now, updatedAt: now };
  draft.apply({ do: "addUser", user: { id, name, email: email ?? null, phoneNumber: phoneNumber ?? null, ...times } });
  addApiKeys(draft, id, apiKeys, now, `${field}.apiKeys`);
  addAuthenticators(draft, id, authenticators, now, `${field}.authenticators`);
  addOauthProviders(draft, id, oauthProviders, now, `${field}.oauthProviders`);
  verifyShownContacts(draft, id, oauthProviders, now, `${field}.oauthProviders`);
  if (tagIds.length > 0) setTagsOfUser(draft, id, tagIds, now);
}

/** A user needs a lasting credential, or something to sign in by: an email address, a phone number, or an OAuth provider. */
function refuseUnreachable({ name, email, phoneNumber, apiKeys, authenticators, oauthProviders }: NewUser): void {
  const canSign = includesLasting({ apiKeys, authenticators });
  const canSignIn = email !== undefined || phoneNumber !== undefined || oauthProviders.length > 0;
  if (!canSign && !canSignIn) fail("VALID_CREDENTIAL_MISSING", { user: name });
}

/** Absent members are unchanged; a contact that is null is removed. */
export interface UserChange {
  name?: string | undefined;
  email?: string | null | undefined;
  phoneNumber?: string | null | undefined;
}

/**
 * Changes a user. A changed contact is no longer verified, and votes made with codes sent to the old one are revoked.
 *
 * @throws KeysteadError RESOURCE_NOT_FOUND
 */
export function changeUser(draft: Draft, userId: string, { name, email, phoneNumber }: UserChange, now: number): void {
  requireUsers(draft, [userId]);
  releaseChanged(draft, userId, { EMAIL: email, PHONE_NUMBER: phoneNumber }, now);
  draft.apply({
    do: "changeUser",
    userId,
    ...(name === undefined ? {} : { name }),
    ...(email === undefined ? {} : { email }),
    ...(phoneNumber === undefined ? {} : { phoneNumber }),
    now,
  });
}

/**
 * Removes users with everything that belongs to them, and revokes their votes.
 *
 * @throws KeysteadError RESOURCE_NOT_FOUND, or FIELD_INVALID for a member of the root quorum; `field` names their field in the request
 */
export function removeUsers(draft: Draft, userIds: readonly string[], now: number, field: string): void {
  requireUsers(draft, userIds);
  const member = draft.part("rootQuorum", ALL).userIds.find((id) => userIds.includes(id));
  if (member !== undefined) {
    const reason = `contains ${member}, a member of the root quorum; change the root quorum with update_root_quorum first`;
    fail("FIELD_INVALID", { field, reason });
  }
  const ids = [...new Set(userIds)];
  const apiKeys = draft.parts("apiKeys", ids);
  const authenticators = draft.parts("authenticators", ids);
  const oauthProviders = draft.parts("oauthProviders", ids);
  const verifiedContacts = draft.parts("verifiedContacts", ids);
  const tagIds = draft.parts("tagsOfUser", ids);
  for (const [index, userId] of ids.entries()) {
    draft.apply({
      do: "removeUser",
      userId,
      apiKeys: apiKeys[index] ?? [],
      authenticators: authenticators[index] ?? [],
      oauthProviders: oauthProviders[index] ?? [],
      verifiedContacts: verifiedContacts[index] ?? [],
      tagIds: tagIds[index] ?? [],
      now,
    });
  }
}

/** @throws KeysteadError RESOURCE_NOT_FOUND naming the first user who does not exist */
export function requireUsers(view: AuthorityView, userIds: readonly string[]): void {
  const known = view.parts("user", userIds);
  refuseUnknown(view, userIds, (index) => known[index] !== undefined, "user");
}
