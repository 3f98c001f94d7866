import { type ErrorDetail, fail } from "../../kernel/errors.ts";
import { type Budget, OutOfBudget } from "../../policy/budget.ts";
import { denialMessage } from "../../policy/decision.ts";
import type { Actor } from "../parties.ts";
import { denialDetails, evaluationsOf, NOT_ASKED, remedyFor, told } from "./denials.ts";
import type { DecisionFacts, FactRef, RecordedEvaluation } from "./facts.ts";
import { concernedByMfa, unmetMfa } from "./mfa.ts";
import { askPolicies, type PolicyDecision, questionOf } from "./policies.ts";

/** The outcome of one look at an activity and its votes. */
export type Decision = { evaluations: readonly RecordedEvaluation[] } & (
  | { outcome: "allow" }
  /** Further approvals can still make it happen. */
  | { outcome: "consensus" }
  /** Users who approve must still show further credentials. */
  | { outcome: "authenticators" }
  | { outcome: "deny"; details: ErrorDetail[] }
);

/**
 * Decides on the approvals that count: those of users who have shown every credential that their MFA policies ask for. The
 * submitter's come first: without them nothing happens. What would be denied anyway is denied at once.
 *
 * @throws OutOfBudget, and FactsNotLoaded as all that looks facts up does
 */
export function decide(facts: DecisionFacts, steps: Budget): Decision {
  if (facts.subject.governedBy === "nobody") return { outcome: "allow", evaluations: [] };
  facts.lookUps.need(lookedUpBy(facts));
  const problem = onlyUserProblem(facts);
  if (problem !== undefined) {
    const details = denialDetails(problem, NOT_ASKED, "Have that user send the request.");
    return { outcome: "deny", details, evaluations: [] };
  }
  // First, because policies may take all that there is, and a root quorum acts all the same.
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

/** What a decision looks up for certain, or nearly so; it looks up more where there are policies. */
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
 * Decides, in the order that the specification gives: the root quorum, policies, a user's own credentials, and denial. The
 * root quorum stands above every policy; while it is short of members, what is allowed without it is allowed, and everything
 * else waits for it. So does what policies take too much work to tell: the quorum must be able to change them.
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
  const asked = askedPolicies(facts, steps);
  const evaluations = evaluationsOf(asked);
  if (asked?.outcome === "OUTCOME_ALLOW") return { outcome: "allow", evaluations };
  if (asked?.outcome === "OUTCOME_REQUIRES_CONSENSUS") return { outcome: "consensus", evaluations };
  if (asked?.outcome !== "OUTCOME_DENY_EXPLICIT" && isOwnCredential(facts)) return { outcome: "allow", evaluations };
  if (quorum === "short") return { outcome: "consensus", evaluations };
  const message = asked ? denialMessage(asked) : NOTHING_ALLOWS;
  const details = denialDetails(message, told(asked, steps), remedyFor(facts, asked));
  return { outcome: "deny", details, evaluations };
}

const NOTHING_ALLOWS = "No policies evaluated to outcome: Allow";

/** What policies come to, where it is for them. */
export const askedPolicies = (facts: DecisionFacts, steps: Budget): PolicyDecision | undefined =>
  facts.subject.governedBy === "policies" ? askPolicies(questionOf(facts), steps) : undefined;

/** The submitter's own, and they still approve. */
const isOwnCredential = ({ subject, submitter: { userId }, approvals }: DecisionFacts): boolean =>
  subject.governedBy === "policies" &&
  (subject.isOwn === true || subject.ownerId === userId) &&
  approvals.some(({ actor }) => actor.userId === userId);

/** Why nobody but another user may ask for this, if that is so. */
function onlyUserProblem({ subject, submitter, organization, lookUps }: DecisionFacts): string | undefined {
  const onlyUserId = subject.governedBy === "policies" ? subject.onlyUserId : undefined;
  if (onlyUserId === undefined || onlyUserId === submitter.userId) return undefined;
  const user = lookUps.user(onlyUserId);
  if (!user) fail("RESOURCE_NOT_FOUND", { kind: "user", id: onlyUserId, organizationId: organization.id });
  return `Only user ${onlyUserId} may ask for this: users do it for themselves alone.`;
}

/** How far the approvals reach as those of the root quorum. */
export type QuorumStanding = "met" | "short" | "apart";

/** `short` while members approve but too few: the others may still join. It takes a member to start. */
export function quorumStanding({ organization, submitter, approvals }: DecisionFacts): QuorumStanding {
  const members = approvals.filter(({ actor }) => actor.isRootQuorumMember).length;
  if (members >= organization.quorumThreshold) return "met";
  return submitter.isRootQuorumMember ? "short" : "apart";
}
