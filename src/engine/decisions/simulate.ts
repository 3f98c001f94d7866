import {
  type Decision,
  decide,
  decisionOfPolicies,
  type QuorumStanding,
  quorumStanding,
} from "../../authority/decisions/decide.ts";
import { policyReport } from "../../authority/decisions/denials.ts";
import { voteRights } from "../../authority/decisions/votes.ts";
import type { Reader } from "../../storage/engine.ts";
import type { DecisionBudget } from "./budget.ts";
import type { LoadableFacts } from "./facts.ts";
import { onFacts } from "./loading-look-ups.ts";

/**
 * Simulates a decision and reports the outcome of each part. The first approval is the submission; the others are cast in their order, as
 * long as they count.
 *
 * @throws OutOfBudget
 */
export async function simulate(
  read: Reader,
  facts: LoadableFacts,
  budget: DecisionBudget,
): Promise<{ decision: Decision; rootQuorum: QuorumStanding; explanations: { policyId: string; text: string }[] }> {
  const [first, ...others] = facts.approvals;
  let cast: LoadableFacts = { ...facts, approvals: first ? [first] : [] };
  let decision = await onFacts(read, cast, budget, (steps) => decide(cast, steps));
  let isOpen = decision.outcome !== "allow" && decision.outcome !== "deny";
  for (const approval of others) {
    if (!isOpen) break;
    const rights = await onFacts(read, cast, budget, (steps) => voteRights(cast, approval.actor, steps));
    if (!rights.mayApprove) continue;
    cast = { ...cast, approvals: [...cast.approvals, approval] };
    const next = await onFacts(read, cast, budget, (steps) => decide(cast, steps));
    // If the votes do not suffice yet, the activity stays open for the next one.
    decision = next.outcome === "deny" ? { outcome: "consensus", evaluations: next.evaluations } : next;
    isOpen = decision.outcome !== "allow";
  }
  const { evaluations, explanations } = await onFacts(read, cast, budget, (steps) =>
    policyReport(decisionOfPolicies(cast, steps), steps),
  );
  const unmet = decision.evaluations.filter(({ outcome }) => outcome === "OUTCOME_REQUIRES_AUTHENTICATORS");
  return {
    decision: { ...decision, evaluations: [...evaluations, ...unmet] },
    rootQuorum: quorumStanding(cast),
    explanations,
  };
}
