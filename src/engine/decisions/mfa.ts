import type { Reader } from "../../storage/engine.ts";
import type { AuthenticationType, MfaPolicy } from "../identity/users.ts";
import { loadUser, type User } from "../identity/users.ts";
import type { DecisionBudget } from "./budget.ts";
import type { DecisionFacts } from "./facts.ts";
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
 * How a user stands towards an activity that they stamped with these keys, or undefined if no MFA policy of theirs applies.
 * The policy of lowest order whose condition holds applies. A condition that cannot be evaluated counts as holding: what is
 * not known to be harmless takes the further credentials.
 *
 * @throws OutOfBudget
 */
export async function mfaStandingOf(
  read: Reader,
  facts: DecisionFacts,
  userId: string,
  publicKeys: readonly string[],
  budget: DecisionBudget,
): Promise<MfaStanding | undefined> {
  const user = await loadUser(read, facts.organization.id, userId);
  if (!user) return undefined;
  for (const policy of user.mfaPolicies) {
    const holds = await evaluateCondition(read, facts, policy.condition, budget);
    if (holds !== false) return standing(policy, user, publicKeys);
  }
  return undefined;
}

function standing(policy: MfaPolicy, user: User, publicKeys: readonly string[]): MfaStanding {
  const shown = publicKeys.flatMap((publicKey) => methodOf(user, publicKey) ?? []);
  const { mfaPolicyId, requiredAuthenticationMethods: requiredMethods } = policy;
  const satisfiedMethods = shown.filter((method) =>
    requiredMethods.some(({ any }) => any.some((wanted) => fits(wanted, method))),
  );
  const satisfied = canMeetAll(
    requiredMethods.map(({ any }) => shown.map((method) => any.some((each) => fits(each, method)))),
  );
  return { mfaPolicyId, userId: user.userId, satisfied, satisfiedMethods, requiredMethods };
}

const fits = (wanted: { type: AuthenticationType; id?: string }, { type, id }: AuthenticationMethod): boolean =>
  wanted.type === type && (wanted.id === undefined || wanted.id === id);

/** What a stamp with this key shows, as long as the credential is still the user's. */
function methodOf({ authenticators, apiKeys }: User, publicKey: string): AuthenticationMethod | undefined {
  const passkey = authenticators.find(({ credential }) => credential.publicKey === publicKey);
  if (passkey) return { type: "AUTHENTICATION_TYPE_PASSKEY", id: passkey.authenticatorId };
  const apiKey = apiKeys.find(({ credential }) => credential.publicKey === publicKey);
  if (!apiKey) return undefined;
  const { type, sessionProfileId = DEFAULT_SESSION_PROFILE_ID } = apiKey.credential;
  // Every other type is a key that some sign-in has issued.
  return type.startsWith("CREDENTIAL_TYPE_API_KEY_")
    ? { type: "AUTHENTICATION_TYPE_API_KEY", id: apiKey.apiKeyId }
    : { type: "AUTHENTICATION_TYPE_SESSION", id: sessionProfileId };
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
      : [{ actor: submitter, publicKeys: [] as readonly string[] }]),
    ...approvals,
  ].filter(({ actor }) => actor.hasMfaPolicies);
  const unmet: MfaStanding[] = [];
  for (const { actor, publicKeys } of concerned) {
    const found = await mfaStandingOf(read, facts, actor.userId, publicKeys, budget);
    if (found && !found.satisfied) unmet.push(found);
  }
  return unmet;
}
