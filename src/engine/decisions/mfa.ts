import type { Reader } from "../../storage/engine.ts";
import { type AuthenticationType, loadUser, type MfaPolicy, type User } from "../identity/users.ts";
import type { CredentialRef, ShownCredential } from "../operations.ts";
import type { DecisionBudget } from "./budget.ts";
import { activityFacts, type DecisionFacts } from "./facts.ts";
import { canMeetAll } from "./mfa-groups.ts";
import { evaluateCondition } from "./policies.ts";

/** Multi-factor authentication: which further credentials a user must show before their approval of an activity counts. */

/** A credential that a user has shown; `id` is the API key's, the passkey's or the session profile's. */
export interface AuthenticationMethod {
  type: AuthenticationType;
  id: string;
}

/** The MFA policy that applies to a user's approval of an activity, and how far it is met. */
export interface MfaStanding {
  mfaPolicyId: string;
  userId: string;
  satisfied: boolean;
  satisfiedMethods: AuthenticationMethod[];
  requiredMethods: MfaPolicy["requiredAuthenticationMethods"];
}

/** The profile of a session that has none. */
export const DEFAULT_SESSION_PROFILE_ID = "00000000-0000-0000-0000-000000000000";

/**
 * How a user stands towards an activity that they stamped with these credentials, or undefined if no MFA policy of theirs applies.
 * The policy of lowest order whose condition holds applies. A condition that cannot be evaluated counts as holding: what is
 * not known to be harmless takes the further credentials.
 *
 * @throws OutOfBudget
 */
export async function mfaStandingOf(
  read: Reader,
  facts: Pick<DecisionFacts, "conditionFacts"> & { organization: { id: string } },
  userId: string,
  credentials: readonly ShownCredential[],
  budget: DecisionBudget,
): Promise<MfaStanding | undefined> {
  const user = await loadUser(read, facts.organization.id, userId);
  if (!user) return undefined;
  for (const policy of user.mfaPolicies) {
    const holds = await evaluateCondition(read, facts, policy.condition, budget);
    if (holds !== false) return standing(policy, userId, credentials);
  }
  return undefined;
}

function standing(policy: MfaPolicy, userId: string, credentials: readonly ShownCredential[]): MfaStanding {
  const shown = credentials.flatMap((credential) => methodOf(credential) ?? []);
  const { mfaPolicyId, requiredAuthenticationMethods: requiredMethods } = policy;
  const satisfiedMethods = shown.filter((method) =>
    requiredMethods.some(({ any }) => any.some((wanted) => fits(wanted, method))),
  );
  return { mfaPolicyId, userId, satisfied: areMet(requiredMethods, shown), satisfiedMethods, requiredMethods };
}

/** Two groups are two factors: a credential that both would take meets one of them. */
const areMet = (groups: MfaPolicy["requiredAuthenticationMethods"], shown: readonly AuthenticationMethod[]): boolean =>
  canMeetAll(groups.map(({ any }) => shown.map((method) => any.some((wanted) => fits(wanted, method)))));

const fits = (wanted: { type: AuthenticationType; id?: string }, { type, id }: AuthenticationMethod): boolean =>
  wanted.type === type && (wanted.id === undefined || wanted.id === id);

/** What a stamp with this credential shows, also when the credential has expired or made room for a newer one since. */
function methodOf(credential: CredentialRef): AuthenticationMethod | undefined {
  const { id, type, sessionProfileId = DEFAULT_SESSION_PROFILE_ID } = credential;
  // Rows that were decided on long ago do not tell.
  if (type === "") return undefined;
  if (type === "CREDENTIAL_TYPE_WEBAUTHN_AUTHENTICATOR") return { type: "AUTHENTICATION_TYPE_PASSKEY", id };
  if (type.startsWith("CREDENTIAL_TYPE_API_KEY_")) return { type: "AUTHENTICATION_TYPE_API_KEY", id };
  // Every other type is a key that some sign-in has issued.
  return { type: "AUTHENTICATION_TYPE_SESSION", id: sessionProfileId };
}

/** The methods that work in this release. Sessions, codes and OAuth come with sign-in: until then nobody can show them. */
export const methodsAtWork: readonly AuthenticationType[] = [
  "AUTHENTICATION_TYPE_PASSKEY",
  "AUTHENTICATION_TYPE_API_KEY",
];

/** What a user can show whenever they are asked: passkeys, and API keys without expiry. */
function lastingCredentialsOf({ apiKeys, authenticators }: User): ShownCredential[] {
  const lasting = apiKeys.filter(({ expirationSeconds }) => expirationSeconds === undefined);
  return [
    ...lasting.map(({ apiKeyId: id, credential }) => ({ ...credential, id })),
    ...authenticators.map(({ authenticatorId: id, credential }) => ({ ...credential, id })),
  ];
}

/** Whether a user can show a method of each of these groups whenever they are asked, with a credential for each. */
export function canShow(user: User, groups: MfaPolicy["requiredAuthenticationMethods"]): boolean {
  const methods = lastingCredentialsOf(user).flatMap((credential) => methodOf(credential) ?? []);
  return areMet(
    groups,
    methods.filter(({ type }) => methodsAtWork.includes(type)),
  );
}

/**
 * Whether a user could still remove their MFA policies, with all that they can show. One who could not, because a policy that
 * they cannot meet guards its own removal, can do nothing about it.
 *
 * @throws OutOfBudget
 */
export async function canRemoveMfa(
  read: Reader,
  organizationId: string,
  user: User,
  budget: DecisionBudget,
): Promise<boolean> {
  const { userId } = user;
  for (const { mfaPolicyId } of user.mfaPolicies) {
    const subject = { governedBy: "policies", resource: "MFA_POLICY", action: "DELETE" } as const;
    const activity = activityFacts("ACTIVITY_TYPE_DELETE_MFA_POLICY", subject, { userId, mfaPolicyId });
    const removal = { organization: { id: organizationId }, conditionFacts: async () => ({ activity }) };
    const standing = await mfaStandingOf(read, removal, userId, lastingCredentialsOf(user), budget);
    if (standing?.satisfied === false) return false;
  }
  return true;
}

/**
 * The MFA policies that are not met yet: the submitter's first, then those of the other users who approve. A user without
 * MFA policies costs nothing.
 */
export async function unmetMfa(read: Reader, facts: DecisionFacts, budget: DecisionBudget): Promise<MfaStanding[]> {
  const { submitter, approvals } = facts;
  const concerned = [
    ...(approvals.some(({ actor }) => actor.userId === submitter.userId)
      ? []
      : [{ actor: submitter, credentials: [] as readonly ShownCredential[] }]),
    ...approvals,
  ].filter(({ actor }) => actor.hasMfaPolicies);
  const unmet: MfaStanding[] = [];
  for (const { actor, credentials } of concerned) {
    const found = await mfaStandingOf(read, facts, actor.userId, credentials, budget);
    if (found && !found.satisfied) unmet.push(found);
  }
  return unmet;
}
