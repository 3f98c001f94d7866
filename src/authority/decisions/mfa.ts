import type { Budget } from "../../policy/budget.ts";
import type { ShownCredential } from "../parties.ts";
import { type AuthenticationMethod, applies, areMet, methodOf, takenBy } from "../rules/mfa-methods.ts";
import type { MethodGroup } from "../state.ts";
import { evaluateCondition } from "./conditions.ts";
import type { ApprovalFacts, DecisionFacts, Elector } from "./facts.ts";

/** Multi-factor authentication: which further credentials a user must show before their approval of an activity counts. */

/** The MFA policy that applies to a user's approval of an activity, and which of its groups are met. */
export interface MfaStanding {
  mfaPolicyId: string;
  userId: string;
  satisfied: boolean;
  satisfiedMethods: AuthenticationMethod[];
  requiredMethods: readonly MethodGroup[];
}

/**
 * The standing of a user who stamped an activity with these credentials, or undefined if none of their MFA policies applies. The first of
 * their policies whose condition holds applies.
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

/** The approvals of users with MFA policies: the submitter's first, then the others'. */
export const concernedByMfa = ({ submitter, approvals }: DecisionFacts): ApprovalFacts[] =>
  [
    ...(approvals.some(({ actor }) => actor.userId === submitter.userId)
      ? []
      : [{ actor: submitter, credentials: [] }]),
    ...approvals,
  ].filter(({ actor }) => actor.hasMfaPolicies);

/** The MFA policies that are not met yet, in that order. Users without MFA policies cost nothing. */
export const unmetMfa = (facts: DecisionFacts, steps: Budget): MfaStanding[] =>
  concernedByMfa(facts).flatMap(({ actor, credentials }) => {
    const found = mfaStandingOf(facts, actor.userId, credentials, steps);
    return found && !found.satisfied ? [found] : [];
  });
