import { type AuthenticationMethod, applies, areMet, methodOf, takenBy } from "../../authority/rules/mfa-methods.ts";
import type { Reader } from "../../storage/engine.ts";
import { loadUser, type MfaPolicy } from "../identity/users.ts";
import type { ShownCredential } from "../operations.ts";
import type { DecisionBudget } from "./budget.ts";
import type { DecisionFacts } from "./facts.ts";
import { evaluateCondition } from "./policies.ts";

/** Multi-factor authentication: which further credentials a user must show before their approval of an activity counts. */

/** The MFA policy that applies to a user's approval of an activity, and how far it is met. */
export interface MfaStanding {
  mfaPolicyId: string;
  userId: string;
  satisfied: boolean;
  satisfiedMethods: AuthenticationMethod[];
  requiredMethods: MfaPolicy["requiredAuthenticationMethods"];
}

/**
 * How a user stands towards an activity that they stamped with these credentials, or undefined if no MFA policy of theirs applies.
 * The first of their policies that applies does.
 *
 * @throws OutOfBudget
 */
export async function mfaStandingOf(
  read: Reader,
  facts: Pick<DecisionFacts, "conditionFacts" | "organization">,
  userId: string,
  credentials: readonly ShownCredential[],
  budget: DecisionBudget,
): Promise<MfaStanding | undefined> {
  const user = await loadUser(read, facts.organization.id, userId);
  if (!user) return undefined;
  for (const policy of user.mfaPolicies) {
    const outcome = await evaluateCondition(read, facts, policy.condition, budget);
    if (applies(outcome)) return standing(policy, userId, credentials);
  }
  return undefined;
}

function standing(policy: MfaPolicy, userId: string, credentials: readonly ShownCredential[]): MfaStanding {
  const shown = credentials.flatMap((credential) => methodOf(credential) ?? []);
  const { mfaPolicyId, requiredAuthenticationMethods: requiredMethods } = policy;
  const satisfiedMethods = takenBy(requiredMethods, shown);
  return { mfaPolicyId, userId, satisfied: areMet(requiredMethods, shown), satisfiedMethods, requiredMethods };
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
