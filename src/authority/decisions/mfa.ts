import type { Budget } from "../../policy/budget.ts";
import type { ShownCredential } from "../parties.ts";
import { type AuthenticationMethod, applies, areMet, methodOf, takenBy } from "../rules/mfa-methods.ts";
import type { MethodGroup } from "../state.ts";
import { evaluateCondition } from "./conditions.ts";
import type { ApprovalFacts, DecisionFacts, Elector } from "./facts.ts";

/** Multi-factor authentication: which further credentials a user must show before their approval of an activity counts. */

/** The MFA policy that applies to a user's approval of an activity, and how far it is met. */
export interface MfaStanding {
  mfaPolicyId: string;
  userId: string;
  satisfied: boolean;
  satisfiedMethods: AuthenticationMethod[];
  requiredMethods: readonly MethodGroup[];
}

/**
 * How a user stands towards an activity that they stamped with these credentials, or undefined if no MFA policy of theirs applies.
 * The first of their policies that applies does.
 *
 * @throws OutOfBudget
 */
export function mfaStandingOf(
  facts: Pick<DecisionFacts, "lookUps">,
  userId: string,
  credentials: readonly ShownCredential[],
  steps: Budget,
): MfaStanding | undefined {
  const policies = facts.lookUps.user(userId)?.mfaPolicies ?? [];
  const applying = policies.find(({ condition }) => applies(evaluateCondition(facts, condition, steps)));
  return applying && standing(applying, userId, credentials);
}

function standing(
  { id: mfaPolicyId, requiredMethods }: Elector["mfaPolicies"][number],
  userId: string,
  credentials: readonly ShownCredential[],
): MfaStanding {
  const shown = credentials.flatMap((credential) => methodOf(credential) ?? []);
  const satisfiedMethods = takenBy(requiredMethods, shown);
  return { mfaPolicyId, userId, satisfied: areMet(requiredMethods, shown), satisfiedMethods, requiredMethods };
}

/** Whose approval waits for their MFA policies, if any: the submitter first, then the others who approve. */
export const concernedByMfa = ({ submitter, approvals }: DecisionFacts): ApprovalFacts[] =>
  [
    ...(approvals.some(({ actor }) => actor.userId === submitter.userId)
      ? []
      : [{ actor: submitter, credentials: [] }]),
    ...approvals,
  ].filter(({ actor }) => actor.hasMfaPolicies);

/** The MFA policies that are not met yet, in that order. A user without MFA policies costs nothing. */
export const unmetMfa = (facts: DecisionFacts, steps: Budget): MfaStanding[] =>
  concernedByMfa(facts).flatMap(({ actor, credentials }) => {
    const found = mfaStandingOf(facts, actor.userId, credentials, steps);
    return found && !found.satisfied ? [found] : [];
  });
