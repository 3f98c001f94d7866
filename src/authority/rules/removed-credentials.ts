import { fail } from "../../kernel/errors.ts";
import type { EvaluateCondition } from "../../policy/compile.ts";
import type { Change } from "../changes.ts";
import type { Parts } from "../state.ts";
import type { AuthorityView, Draft } from "../view.ts";
import { hasLastingCredential } from "./credentials.ts";
import { canShow } from "./mfa-methods.ts";
import { refuseShortQuorum } from "./root-quorum.ts";
import { refuseUnknown } from "./unknown.ts";
import { requireUsers } from "./users.ts";

/** The rules for removing credentials from a user. */

type CredentialKind = "apiKeys" | "authenticators" | "oauthProviders";

interface Removable<Credential> {
  /** Its name in errors. */
  label: string;
  field: string;
  removal: (of: { userId: string; now: number }, removed: readonly Credential[]) => Change;
}

const removables: { [Kind in CredentialKind]: Removable<Parts[Kind][number]> } = {
  apiKeys: {
    label: "API key",
    field: "parameters.apiKeyIds",
    removal: (of, apiKeys) => ({ do: "removeApiKeys", ...of, apiKeys, revokesVotes: true }),
  },
  authenticators: {
    label: "authenticator",
    field: "parameters.authenticatorIds",
    removal: (of, authenticators) => ({ do: "removeAuthenticators", ...of, authenticators }),
  },
  oauthProviders: {
    label: "OAuth provider",
    field: "parameters.providerIds",
    removal: (of, oauthProviders) => ({ do: "removeOauthProviders", ...of, oauthProviders }),
  },
};

/** The user whose credentials are removed, and what the rules need besides the organization's state. */
export interface CredentialScope {
  userId: string;
  isSubOrganization: boolean;
  evaluate: EvaluateCondition;
  now: number;
}

/**
 * Removes credentials of one kind, and revokes the votes made with them on open activities. To prevent lock-outs, a user must keep a lasting
 * credential or a provider to sign in by, and the credentials that their MFA policies name.
 *
 * @throws KeysteadError RESOURCE_NOT_FOUND, VALID_CREDENTIAL_MISSING, FIELD_INVALID or QUORUM_USERS_MISSING
 */
export function removeCredentials<Kind extends CredentialKind>(
  draft: Draft,
  kind: Kind,
  ids: readonly string[],
  { userId, isSubOrganization, evaluate, now }: CredentialScope,
): void {
  const { label, field, removal }: Removable<Parts[Kind][number]> = removables[kind];
  requireUsers(draft, [userId]);
  // A provider's token is submitted by somebody else: in a sub-organization the parent can do that. Elsewhere providers count only when
  // providers are what is removed.
  const countsProviders = isSubOrganization || kind === "oauthProviders";
  const hasWayIn = () =>
    hasLastingCredential(draft, userId) || (countsProviders && draft.part("oauthProviders", userId).length > 0);
  const hadWayIn = hasWayIn();
  const own: readonly Parts[Kind][number][] = draft.part(kind, userId);
  const known = new Set(own.map(({ id }) => id));
  refuseUnknown(draft, ids, (index) => known.has(ids[index] as string), label);
  const removed = own.filter(({ id }) => ids.includes(id));
  draft.apply(removal({ userId, now }, removed));
  if (hadWayIn && !hasWayIn()) fail("VALID_CREDENTIAL_MISSING", { user: userId });
  if (draft.part("mfaPolicies", userId).length === 0) return;
  refuseNamedByMfa(draft, userId, ids, field);
  refuseShortQuorum(draft, userId, evaluate);
}

/**
 * Removes the API key with which this server acts for a user, if it exists. Nobody signs in as that user, so they need not keep a credential;
 * but neither an MFA policy of theirs nor a root quorum may depend on the key.
 *
 * @throws KeysteadError FIELD_INVALID or QUORUM_USERS_MISSING; `field` names the key's field in the request
 */
export function removeServersKey(
  draft: Draft,
  publicKey: string,
  { userId, evaluate, now }: Omit<CredentialScope, "isSubOrganization">,
  field: string,
): void {
  const removed = draft.part("apiKeys", userId).filter((key) => key.publicKey === publicKey);
  if (removed.length === 0) return;
  draft.apply(removables.apiKeys.removal({ userId, now }, removed));
  const ids = removed.map(({ id }) => id);
  refuseNamedByMfa(draft, userId, ids, field);
  refuseShortQuorum(draft, userId, evaluate);
}

/** @throws KeysteadError FIELD_INVALID if an MFA policy of the user names the credential and no other method can replace it */
function refuseNamedByMfa(view: AuthorityView, userId: string, removed: readonly string[], field: string): void {
  for (const { id: mfaPolicyId, name, requiredMethods: groups } of view.part("mfaPolicies", userId)) {
    const named = groups.filter(({ any }) => any.some(({ id }) => id !== undefined && removed.includes(id)));
    if (canShow(view, userId, named)) continue;
    const reason = `contains what the user's MFA policy ${name} (${mfaPolicyId}) requires; change that policy first`;
    fail("FIELD_INVALID", { field, reason });
  }
}
