import { activityFacts } from "../../policy/activity-facts.ts";
import type { EvaluateCondition } from "../../policy/compile.ts";
import type { PolicyError } from "../../policy/errors.ts";
import { attestedTypes, contactCredential, otpFeatures, otpMethods } from "../attested.ts";
import type { CredentialRef } from "../parties.ts";
import { ALL, type AuthenticationType, type Contact, contactOf, type MethodGroup } from "../state.ts";
import type { AuthorityView } from "../view.ts";
import { isLasting } from "./credentials.ts";
import { canMeetAll } from "./mfa-groups.ts";

/** Multi-factor authentication: which method a credential proves, and when the proven methods suffice. */

/** A method that a user has proven; `id` is that of the API key, passkey, OAuth provider or session profile. */
export interface AuthenticationMethod {
  type: AuthenticationType;
  /** Absent for a contact, because a user has one of each type. */
  id?: string;
}

/** The profile id of a session without a profile. */
export const DEFAULT_SESSION_PROFILE_ID = "00000000-0000-0000-0000-000000000000";

/** The method that a stamp with this credential proves, even if the credential has expired or was replaced since. */
export function methodOf(credential: CredentialRef): AuthenticationMethod | undefined {
  const { id, type, sessionProfileId = DEFAULT_SESSION_PROFILE_ID } = credential;
  // Old rows do not have the type.
  if (type === "") return undefined;
  if (type === attestedTypes.EMAIL) return { type: otpMethods.EMAIL };
  if (type === attestedTypes.PHONE_NUMBER) return { type: otpMethods.PHONE_NUMBER };
  if (type === attestedTypes.OAUTH) return { type: "AUTHENTICATION_TYPE_OAUTH", id };
  if (type === "CREDENTIAL_TYPE_WEBAUTHN_AUTHENTICATOR") return { type: "AUTHENTICATION_TYPE_PASSKEY", id };
  if (type.startsWith("CREDENTIAL_TYPE_API_KEY_")) return { type: "AUTHENTICATION_TYPE_API_KEY", id };
  // Every other type is a key issued by a sign-in.
  return { type: "AUTHENTICATION_TYPE_SESSION", id: sessionProfileId };
}

/**
 * Whether an MFA policy applies, given the outcome of its condition. The first of a user's policies that applies is used. A condition that
 * cannot be evaluated counts as true, so that further credentials are required when in doubt.
 */
export const applies = (outcome: boolean | PolicyError): boolean => outcome !== false;

/** The methods that any of the groups accepts. */
export const takenBy = (
  groups: readonly MethodGroup[],
  shown: readonly AuthenticationMethod[],
): AuthenticationMethod[] => shown.filter((method) => groups.some((group) => takes(group, method)));

/** Whether every group is met. Two groups are two factors: a credential that both accept meets only one of them. */
export const areMet = (groups: readonly MethodGroup[], shown: readonly AuthenticationMethod[]): boolean =>
  canMeetAll(groups.map((group) => shown.map((method) => takes(group, method))));

const takes = ({ any }: MethodGroup, { type, id }: AuthenticationMethod): boolean =>
  any.some((wanted) => wanted.type === type && (wanted.id === undefined || wanted.id === id));

/**
 * The methods that a user can prove at any time: passkeys, API keys without expiry, tokens of their issuers, and, in a sub-organization with
 * codes enabled, their contacts, because its parent has the codes sent and exchanged. Sessions do not count here: a session is created with
 * one of these methods, and a policy may require it before there is one.
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

/** Whether a user can meet all groups at any time, with a credential for each. */
export const canShow = (view: AuthorityView, userId: string, groups: readonly MethodGroup[]): boolean =>
  areMet(groups, lastingMethodsOf(view, userId));

/**
 * Whether a user could still remove their MFA policies with the methods that they can prove. If a policy that they cannot meet also applies
 * to its own removal, they are locked out.
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
