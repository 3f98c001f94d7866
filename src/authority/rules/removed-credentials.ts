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

/** The credentials of one user, removed under the rules that hold for all of them. */

type CredentialKind = "apiKeys" | "authenticators" | "oauthProviders";

interface Removable<Credential> {
  /** In errors. */
  label: string;
  field: string;
  removal: (of: { userId: string; now: number }, removed: readonly Credential[]) => Change;
}

const removables: { [Kind in CredentialKind]: Removable<Parts[Kind][number]> } = {
  apiKeys: {
    label: "API key",
    field: "parameters.apiKeyIds",
    removal: (of, apiKeys) => ({ do: "removeApiKeys", ...of, apiKeys, takesVotesBack: true }),
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

/** Whose credentials they are, and what is looked at beside the organization's state. */
export interface CredentialScope {
  userId: string;
  isSubOrganization: boolean;
  evaluate: EvaluateCondition;
  now: number;
}

/**
 * Removes the named credentials of one kind, and takes back the votes given with them in what is still open. A user keeps a
 * lasting credential or a provider that they can sign in by, and those that their MFA policies name: whoever has none left, or
 * cannot show them, could never come back.
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
  // Somebody else brings a provider's token: in a sub-organization its parent can. Elsewhere it counts for who removes providers.
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
 * Removes the API key with which this server acts in the name of a user, if it is there. Nobody signs in as that user, so that they keep
 * nothing; but neither an MFA policy of theirs nor a root quorum that they are in may count on the key.
 *
 * @throws KeysteadError FIELD_INVALID or QUORUM_USERS_MISSING; `field` is what names the key in the request
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

/** @throws KeysteadError FIELD_INVALID for what an MFA policy of the user names, unless another method does as well */
function refuseNamedByMfa(view: AuthorityView, userId: string, removed: readonly string[], field: string): void {
  for (const { id: mfaPolicyId, name, requiredMethods: groups } of view.part("mfaPolicies", userId)) {
    const named = groups.filter(({ any }) => any.some(({ id }) => id !== undefined && removed.includes(id)));
    if (canShow(view, userId, named)) continue;
    const reason = `holds what the user's MFA policy ${name} (${mfaPolicyId}) asks for; change that policy first`;
    fail("FIELD_INVALID", { field, reason });
  }
}
