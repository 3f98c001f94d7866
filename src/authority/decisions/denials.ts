import { type ErrorDetail, KeysteadError } from "../../kernel/errors.ts";
import type { Budget } from "../../policy/budget.ts";
import type { DecisionFacts, RecordedEvaluation } from "./facts.ts";
import { explain, type PolicyDecision } from "./policies.ts";

/** The errors for denials. */

/** The outcomes of policies, with explanations, for clients. */
export interface PolicyReport {
  evaluations: readonly RecordedEvaluation[];
  explanations: { policyId: string; text: string }[];
}

/** For denials without an evaluation of policies. */
export const NO_POLICIES_EVALUATED: PolicyReport = { evaluations: [], explanations: [] };

/** Evaluations in their recorded form. Decisions with the same outcome share the array, and so share this. */
const recorded = new WeakMap<PolicyDecision["evaluations"], readonly RecordedEvaluation[]>();

export function evaluationsOf(decision: PolicyDecision | undefined): readonly RecordedEvaluation[] {
  if (decision === undefined) return [];
  const { evaluations } = decision;
  const known = recorded.get(evaluations) ?? evaluations.map(({ policyId, outcome }) => ({ policyId, outcome }));
  recorded.set(evaluations, known);
  return known;
}

export const policyReport = (decision: PolicyDecision | undefined, steps: Budget): PolicyReport =>
  decision ? { evaluations: evaluationsOf(decision), explanations: explain(decision, steps) } : NO_POLICIES_EVALUATED;

/** What a user can do about a denial. */
export function remedyFor(
  { subject, organization }: Pick<DecisionFacts, "subject" | "organization">,
  decision: PolicyDecision | undefined,
): string {
  if (subject.governedBy === "rootQuorum") {
    return `Only the root quorum decides on this: it requires approvals by ${organization.quorumThreshold} of its members, whom get_organization_configs lists, and no policy can allow it.`;
  }
  if (!decision)
    return "The organization has no policies that could allow it; its root quorum can add one with create_policy.";
  return decision.outcome === "OUTCOME_DENY_EXPLICIT"
    ? "The details give the reason for each policy's outcome; only the root quorum can overrule a policy that denies."
    : "The details give the reason for each policy's outcome; the root quorum can change policies, and simulate_policy tries out changes.";
}

/** The details of an error for a denial, for clients that read them. */
export function denialDetails(
  message: string,
  { evaluations: policyEvaluations, explanations }: PolicyReport,
  remedy: string,
): ErrorDetail[] {
  return [
    { "@type": "type.googleapis.com/errors.v1.PolicyEnginePermissionError", message, policyEvaluations },
    { "@type": "type.googleapis.com/keystead.v1.PolicyExplanation", remedy, explanations },
  ];
}

/** The error for a denial with these details; also used when a stored denial is returned again. */
export function denialOf(details: ErrorDetail[]): KeysteadError {
  const [{ message = "It was rejected." } = {}, { remedy = "" } = {}] = details as {
    message?: string;
    remedy?: string;
  }[];
  const sentence = message.endsWith(".") ? message : `${message}.`;
  return new KeysteadError("PERMISSION_DENIED", { reason: `${sentence} ${remedy}`.trim() }, details);
}
