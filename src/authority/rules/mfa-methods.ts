import { activityFacts } from "../../policy/activity-facts.ts";
import type { EvaluateCondition } from "../../policy/compile.ts";
import type { PolicyError } from "../../policy/errors.ts";
import { attestedTypes, contactCredential, otpFeatures, otpMethods } from "../attested.ts";
import type { CredentialRef } from "../parties.ts";
import { ALL, type AuthenticationType, type Contact, contactOf, type MethodGroup } from "../state.ts";
import type { AuthorityView } from "../view.ts";
import { isLasting } from "./credentials.ts";
import { canMeetAll } from "./mfa-groups.ts";

/** Multi-factor authentication: what a credential shows, and when what was shown is enough. */

/** A credential that a user has shown; `id` is the API key's, the passkey's, the OAuth provider's or the session profile's. */
export interface AuthenticationMethod {
  type: AuthenticationType;
  /** None of a contact, of which a user has one. */
  id?: string;
}

/** The profile of a session that has none. */
export const DEFAULT_SESSION_PROFILE_ID = "00000000-0000-0000-0000-000000000000";

/** What a stamp with this credential shows, also when the credential has expired or made room for a newer one since. */
export function methodOf(credential: CredentialRef): AuthenticationMethod | undefined {
  const { id, type, sessionProfileId = DEFAULT_SESSION_PROFILE_ID } = credential;
  // Rows that were decided on long ago do not tell.
  if (type === "") return undefined;
  if (type === attestedTypes.EMAIL) return { type: otpMethods.EMAIL };
  if (type === attestedTypes.PHONE_NUMBER) return { type: otpMethods.PHONE_NUMBER };
  if (type === attestedTypes.OAUTH) return { type: "AUTHENTICATION_TYPE_OAUTH", id };
  if (type === "CREDENTIAL_TYPE_WEBAUTHN_AUTHENTICATOR") return { type: "AUTHENTICATION_TYPE_PASSKEY", id };
  if (type.startsWith("CREDENTIAL_TYPE_API_KEY_")) return { type: "AUTHENTICATION_TYPE_API_KEY", id };
  // Every other type is a key that some sign-in has issued.
  return { type: "AUTHENTICATION_TYPE_SESSION", id: sessionProfileId };
}

/**
 * Whether an MFA policy applies whose condition comes to this; of a user's policies the first that applies does. A condition
 * that cannot be evaluated counts as holding: what is not known to be harmless takes the further credentials.
 */
export const applies = (outcome: boolean | PolicyError): boolean => outcome !== false;

/** Those of the methods that one of the groups takes. */
export const takenBy = (
  groups: readonly MethodGroup[],
  shown: readonly AuthenticationMethod[],
): AuthenticationMethod[] => shown.filter((method) => groups.some((group) => takes(group, method)));

/** Two groups are two factors: a credential that both would take meets one of them. */
export const areMet = (groups: readonly MethodGroup[], shown: readonly AuthenticationMethod[]): boolean =>
  canMeetAll(groups.map((group) => shown.map((method) => takes(group, method))));

const takes = ({ any }: MethodGroup, { type, id }: AuthenticationMethod): boolean =>
  any.some((wanted) => wanted.type === type && (wanted.id === undefined || wanted.id === id));

/**
 * What a user can show whenever they are asked: passkeys, API keys without expiry, and tokens of their issuers. In a sub-organization
 * that has codes switched on, their contacts as well: its parent has the codes sent and exchanged. Sessions are left out: a session
 * comes of one of these, and a policy may ask for it before there is any.
 */
function lastingMethodsOf(view: AuthorityView, userId: string): AuthenticationMethod[] {
  const user = view.part("user", userId);
  const contacts = [
    ...(user?.email == null ? [] : [contactOf("EMAIL", user.email)]),
    ...(user?.phoneNumber == null ? [] : [contactOf("PHONE_NUMBER", user.phoneNumber)]),
  ];
  const isReached = ({ type }: Contact) =>
    view.part("isBelowParent", ALL) && view.part("features", ALL).some(({ name }) => name === otpFeatures[type]);
  const shown = [
    ...view.part("apiKeys", userId).filter(isLasting),
    ...view.part("oauthProviders", userId).map(({ id }) => ({ id, type: attestedTypes.OAUTH })),
    ...contacts.filter(isReached).map(contactCredential),
  ];
  const passkeys = view.part("authenticators", userId);
  return [
    ...shown.flatMap(({ id, type }) => methodOf({ id, type }) ?? []),
    ...passkeys.map(({ id }) => ({ type: "AUTHENTICATION_TYPE_PASSKEY", id }) as const),
  ];
}

/** Whether a user can show a method of each of these groups whenever they are asked, with a credential for each. */
export const canShow = (view: AuthorityView, userId: string, groups: readonly MethodGroup[]): boolean =>
  areMet(groups, lastingMethodsOf(view, userId));

/**
 * Whether a user could still remove their MFA policies, with all that they can show. One who could not, because a policy that
 * they cannot meet guards its own removal, can do nothing about it.
 *
 * @throws OutOfBudget
 */
export function canRemoveMfa(view: AuthorityView, userId: string, evaluate: EvaluateCondition): boolean {
  const deletion = { resource: "MFA_POLICY", action: "DELETE" };
  // No condition sees which one is deleted, so that the same one guards them all.
  const activity = activityFacts("ACTIVITY_TYPE_DELETE_MFA_POLICY", deletion, {});
  const guarding = view.part("mfaPolicies", userId).find(({ condition }) => applies(evaluate(condition, { activity })));
  return guarding === undefined || canShow(view, userId, guarding.requiredMethods);
}
