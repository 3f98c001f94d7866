import { type ErrorDetail, fail } from "../../kernel/errors.ts";
import { type Budget, OutOfBudget } from "../../policy/budget.ts";
import { denialMessage } from "../../policy/decision.ts";
import type { Actor } from "../parties.ts";
import { denialDetails, evaluationsOf, NO_POLICIES_EVALUATED, policyReport, remedyFor } from "./denials.ts";
import type { DecisionFacts, FactRef, RecordedEvaluation } from "./facts.ts";
import { concernedByMfa, unmetMfa } from "./mfa.ts";
import { askPolicies, type PolicyDecision, questionOf } from "./policies.ts";

/** The decision on an activity and its votes. */
export type Decision = { evaluations: readonly RecordedEvaluation[] } & (
  | { outcome: "allow" }
  /** Further approvals can still lead to an allow. */
  | { outcome: "consensus" }
  /** Users who approve must still show further credentials. */
  | { outcome: "authenticators" }
  | { outcome: "deny"; details: ErrorDetail[] }
);

/**
 * Decides on the approvals that count: those of users who have shown every credential that their MFA policies require. The submitter's come
 * first; without them nothing is carried out. An activity that would be denied in any case is denied immediately.
 *
 * @throws OutOfBudget, and FactsNotLoaded like everything that looks facts up
 */
export function decide(facts: DecisionFacts, steps: Budget): Decision {
  if (facts.subject.governedBy === "nobody") return { outcome: "allow", evaluations: [] };
  facts.lookUps.need(lookedUpBy(facts));
  const problem = onlyUserProblem(facts);
  if (problem !== undefined) {
    const details = denialDetails(problem, NO_POLICIES_EVALUATED, "Have that user send the request.");
    return { outcome: "deny", details, evaluations: [] };
  }
  // Before the policies, because they may use up the budget, and the root quorum must be able to act nevertheless.
  const unmet = unmetMfa(facts, steps);
  const withAll = weigh(facts, steps);
  if (withAll.outcome === "deny") return withAll;
  if (unmet.length === 0) return withAll;
  const missing = unmet.map(({ mfaPolicyId }) => ({
    policyId: mfaPolicyId,
    outcome: "OUTCOME_REQUIRES_AUTHENTICATORS" as const,
  }));
  const evaluations = [...withAll.evaluations, ...missing];
  const lacks = ({ userId }: Actor) => unmet.some((standing) => standing.userId === userId);
  if (lacks(facts.submitter)) return { outcome: "authenticators", evaluations };
  const approvals = facts.approvals.filter(({ actor }) => !lacks(actor));
  const withThose = weigh({ ...facts, approvals }, steps);
  if (withThose.outcome === "allow") return { outcome: "allow", evaluations };
  return { outcome: withAll.outcome === "allow" ? "authenticators" : "consensus", evaluations };
}

/** The facts that nearly every decision looks up. With policies it looks up more. */
export function lookedUpBy(facts: DecisionFacts): FactRef[] {
  const { subject } = facts;
  const isForPolicies = subject.governedBy === "policies" && quorumStanding(facts) !== "met";
  const onlyUserId = subject.governedBy === "policies" ? subject.onlyUserId : undefined;
  const concerned = concernedByMfa(facts).map(({ actor: { userId } }): FactRef => ({ fact: "user", userId }));
  return [
    ...(isForPolicies ? [{ fact: "policies" } as const] : []),
    ...concerned,
    ...(concerned.length > 0 ? [{ fact: "activity" } as const] : []),
    ...(onlyUserId === undefined || onlyUserId === facts.submitter.userId
      ? []
      : [{ fact: "user", userId: onlyUserId } as const]),
  ];
}

/**
 * Decides in the order of the specification: the root quorum, policies, a user's own credentials, and denial. The root quorum outranks every
 * policy. While too few of its members approve, an activity that is allowed otherwise is allowed, and all others wait for the quorum. An
 * activity for which the policies exceed the budget waits too, so that the quorum can change such policies.
 */
function weigh(facts: DecisionFacts, steps: Budget): Decision {
  const quorum = quorumStanding(facts);
  if (quorum === "met") return { outcome: "allow", evaluations: [] };
  try {
    return weighWithoutQuorum(facts, quorum, steps);
  } catch (error) {
    if (error instanceof OutOfBudget && quorum === "short") return { outcome: "consensus", evaluations: [] };
    throw error;
  }
}

function weighWithoutQuorum(facts: DecisionFacts, quorum: QuorumStanding, steps: Budget): Decision {
  const byPolicies = decisionOfPolicies(facts, steps);
  const evaluations = evaluationsOf(byPolicies);
  const outcome = byPolicies?.outcome;
  if (outcome === "OUTCOME_ALLOW") return { outcome: "allow", evaluations };
  if (outcome === "OUTCOME_REQUIRES_CONSENSUS") return { outcome: "consensus", evaluations };
  if (outcome !== "OUTCOME_DENY_EXPLICIT" && isOwnCredential(facts)) return { outcome: "allow", evaluations };
  if (quorum === "short") return { outcome: "consensus", evaluations };
  const message = byPolicies ? denialMessage(byPolicies) : NOTHING_ALLOWS;
  const details = denialDetails(message, policyReport(byPolicies, steps), remedyFor(facts, byPolicies));
  return { outcome: "deny", details, evaluations };
}

const NOTHING_ALLOWS = "No policies evaluated to outcome: Allow";

/** The decision of the policies, if they govern the activity. */
export const decisionOfPolicies = (facts: DecisionFacts, steps: Budget): PolicyDecision | undefined =>
  facts.subject.governedBy === "policies" ? askPolicies(questionOf(facts), steps) : undefined;

/** Whether the activity is about the submitter's own credentials and the submitter still approves. */
const isOwnCredential = ({ subject, submitter: { userId }, approvals }: DecisionFacts): boolean =>
  subject.governedBy === "policies" &&
  (subject.isOwn === true || subject.ownerId === userId) &&
  approvals.some(({ actor }) => actor.userId === userId);

/** The problem, if only a certain other user may submit this activity. */
function onlyUserProblem({ subject, submitter, organization, lookUps }: DecisionFacts): string | undefined {
  const onlyUserId = subject.governedBy === "policies" ? subject.onlyUserId : undefined;
  if (onlyUserId === undefined || onlyUserId === submitter.userId) return undefined;
  const user = lookUps.user(onlyUserId);
  if (!user) fail("RESOURCE_NOT_FOUND", { kind: "user", id: onlyUserId, organizationId: organization.id });
  return `Only user ${onlyUserId} may do this: users can do it only for themselves.`;
}

/** Whether the approvals reach the root quorum's threshold. */
export type QuorumStanding = "met" | "short" | "apart";

/** `short` if members approve, but too few yet. Only a member can start a root quorum, so otherwise it is `apart`. */
export function quorumStanding({ organization, submitter, approvals }: DecisionFacts): QuorumStanding {
  const members = approvals.filter(({ actor }) => actor.isRootQuorumMember).length;
  if (members >= organization.quorumThreshold) return "met";
  return submitter.isRootQuorumMember ? "short" : "apart";
}
