import { MAX_EXPLANATION_STEPS } from "../../kernel/limits.ts";
import type { Approval, Voter } from "../../policy/approvals.ts";
import { type Budget, OutOfBudget } from "../../policy/budget.ts";
import { type DecisionRequest, evaluatePolicies } from "../../policy/decision.ts";
import type { PolicyResult } from "../../policy/evaluation.ts";
import { explainPolicy } from "../../policy/explain.ts";
import type { CredentialFacts } from "../../policy/facts.ts";
import type { Policy } from "../../policy/policy.ts";
import { createValueMemory } from "../../policy/remembered-values.ts";
import { type PolicyWarning, warningsOf } from "../../policy/warnings.ts";
import { isAttested } from "../attested.ts";
import type { ShownCredential } from "../parties.ts";
import { expressions } from "./conditions.ts";
import type { DecisionFacts, FactRef } from "./facts.ts";

/** Evaluates an organization's policies on an activity and its approvals. */

const memory = createValueMemory();

/** A question to the policies: the submitter and the approvals, which may be hypothetical, with the facts of the activity. */
type PolicyQuestion = Pick<DecisionFacts, "lookUps" | "now" | "approvals"> & { submitterId: string };

/** The result of the policies, with the question, which explanations need. */
export interface PolicyDecision extends PolicyResult {
  request: DecisionRequest;
}

export const questionOf = ({ lookUps, now, approvals, submitter }: DecisionFacts): PolicyQuestion => ({
  lookUps,
  now,
  approvals,
  submitterId: submitter.userId,
});

/**
 * The decision of the organization's policies, or undefined if it has none.
 *
 * @throws OutOfBudget
 */
export function askPolicies(question: PolicyQuestion, steps: Budget): PolicyDecision | undefined {
  const { lookUps, now, submitterId } = question;
  const policies = lookUps.policies();
  if (policies.length === 0) return undefined;
  const approvers = question.approvals.map(({ actor: { userId } }): FactRef => ({ fact: "user", userId }));
  lookUps.need([{ fact: "activity" }, ...approvers]);
  const facts = lookUps.conditionFacts(steps);
  const base = { policies, facts, nowMs: now, submitterId, approvals: approvalsOf(question) };
  // The other users matter only if approvals are missing; most decisions never read them.
  let voters: readonly Voter[] = [];
  const request: DecisionRequest = {
    ...base,
    get voters() {
      voters = lookUps.voters();
      return voters;
    },
  };
  const decision = evaluatePolicies(request, expressions, steps, memory);
  return { ...decision, request: { ...base, voters } };
}

/**
 * Whether an approval of this user could help a policy to allow the activity, in addition to the present approvals or in place of some of
 * them, which may expire.
 *
 * @throws OutOfBudget
 */
export function couldHelp(facts: DecisionFacts, userId: string, steps: Budget): boolean {
  const question = { ...questionOf(facts), submitterId: userId };
  const approvals = facts.approvals.filter(({ actor }) => actor.userId !== userId);
  const beside = askPolicies({ ...question, approvals }, steps);
  if (beside?.outcome === "OUTCOME_REQUIRES_CONSENSUS") return true;
  if (beside === undefined || beside.outcome === "OUTCOME_DENY_EXPLICIT") return false;
  const inPlace = askPolicies({ ...question, approvals: [] }, steps);
  return inPlace?.outcome === "OUTCOME_REQUIRES_CONSENSUS" || inPlace?.outcome === "OUTCOME_ALLOW";
}

function approvalsOf({ approvals, lookUps }: PolicyQuestion): Approval[] {
  return approvals.flatMap(({ actor: { userId }, credentials }) => {
    const user = lookUps.user(userId)?.voter;
    if (!user) return [];
    return credentials.map((shown) => {
      // The key of an attested stamp may also be registered as an API key; what was shown is the token, not that key.
      const credential = isAttested(shown.type)
        ? undefined
        : user.credentials.find(({ public_key }) => public_key === shown.publicKey);
      return { user, credential: credential ?? formerCredential(userId, shown) };
    });
  });
}

/** A credential that was replaced by a newer one since. Approvals made with it remain approvals with that credential. */
const formerCredential = (userId: string, { id, type, publicKey }: ShownCredential): CredentialFacts | undefined =>
  id === "" ? undefined : { id, user_id: userId, type, public_key: publicKey };

/**
 * Warnings of known traps in a policy, whether stored or not.
 *
 * @throws OutOfBudget
 */
export const warningsAbout = (policy: Omit<Policy, "policyId">, steps: Budget): PolicyWarning[] =>
  warningsOf(policy, expressions, steps);

const UNEXPLAINED = "This cannot be explained, because evaluating the organization's policies takes too much work.";

/** Why each policy did not allow it, in sentences. */
export function explain(
  { evaluations, request }: PolicyDecision,
  budget: Budget,
): { policyId: string; text: string }[] {
  const steps = budget.part(MAX_EXPLANATION_STEPS);
  return evaluations.map((evaluation, index) => {
    const { policyId } = evaluation;
    try {
      const text = explainPolicy(request.policies[index] as Policy, evaluation, request, expressions, steps);
      return { policyId, text };
    } catch (error) {
      if (error instanceof OutOfBudget) return { policyId, text: UNEXPLAINED };
      throw error;
    }
  });
}
