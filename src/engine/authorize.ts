import { type ErrorDetail, fail } from "../kernel/errors.ts";
import { denialMessage, type Outcome } from "../policy/decision.ts";
import type { Reader } from "../storage/engine.ts";
import type { Actor, Organization, PolicyFacts, Subject } from "./declare.ts";
import { mfaStandingOf, unmetMfa } from "./mfa.ts";
import {
  activityFacts,
  askPolicies,
  couldHelp,
  explain,
  type PolicyDecision,
  type PolicyQuestion,
} from "./policies.ts";
import { loadUser } from "./users.ts";

/** What each policy came to; stored with the vote that made it be asked. */
export interface PolicyEvaluation {
  policyId: string;
  /** The last of an MFA policy that is not met. */
  outcome: Outcome | "OUTCOME_REQUIRES_AUTHENTICATORS";
}

/** The outcome of one look at an activity and its votes. */
export type Decision = { evaluations: PolicyEvaluation[] } & (
  | { outcome: "allow" }
  /** Further approvals can still make it happen. */
  | { outcome: "consensus" }
  /** Users who approve must still show further credentials. */
  | { outcome: "authenticators" }
  | { outcome: "deny"; reason: string; details: ErrorDetail[] }
);

/** A user's approval, with every key that they stamped it with; the vote's own comes first. */
export interface ApprovalFacts {
  actor: Actor;
  publicKeys: readonly string[];
}

/** The facts of a decision, all read in one transaction. */
export interface DecisionFacts {
  organization: Organization;
  /** Of the activity, with its version. */
  type: string;
  intent: unknown;
  subject: Subject;
  /** What the operation itself tells policies, read with the reader of the moment. */
  policyFacts: (read: Reader) => Promise<PolicyFacts>;
  /** Who asked first. */
  submitter: Actor;
  /** The users who approve, the submitter among them; one entry a user. */
  approvals: readonly ApprovalFacts[];
  /** Milliseconds. */
  now: number;
}

/**
 * Decides on the approvals that count: those of users who have shown every credential that their MFA policies ask for. The
 * submitter's come first: without them nothing happens. What would be denied anyway is denied at once.
 */
export async function decide(read: Reader, facts: DecisionFacts): Promise<Decision> {
  const problem = await onlyUserProblem(read, facts);
  if (problem !== undefined) {
    return { outcome: "deny", reason: problem, details: denialDetails(problem, []), evaluations: [] };
  }
  const withAll = await weigh(read, facts);
  if (withAll.outcome === "deny") return withAll;
  const unmet = await unmetMfa(read, facts);
  if (unmet.length === 0) return withAll;
  const missing = unmet.map(({ mfaPolicyId }) => ({
    policyId: mfaPolicyId,
    outcome: "OUTCOME_REQUIRES_AUTHENTICATORS" as const,
  }));
  const evaluations = [...withAll.evaluations, ...missing];
  const lacks = ({ userId }: Actor) => unmet.some((standing) => standing.userId === userId);
  if (lacks(facts.submitter)) return { outcome: "authenticators", evaluations };
  const approvals = facts.approvals.filter(({ actor }) => !lacks(actor));
  const withThose = await weigh(read, { ...facts, approvals });
  if (withThose.outcome === "allow") return { outcome: "allow", evaluations };
  return { outcome: withAll.outcome === "allow" ? "authenticators" : "consensus", evaluations };
}

/**
 * Decides, in the order that the specification gives: the root quorum, policies, a user's own credentials, and denial. The
 * root quorum stands above every policy; while it is short of members, what policies allow is allowed, and what they deny
 * waits for it.
 */
async function weigh(read: Reader, facts: DecisionFacts): Promise<Decision> {
  const { subject, submitter } = facts;
  const quorum = rootQuorum(facts);
  if (quorum === "met") return { outcome: "allow", evaluations: [] };
  const asked = subject.governedBy === "policies" ? await askPolicies(read, questionOf(facts)) : undefined;
  const evaluations = evaluationsOf(asked);
  if (asked?.outcome === "OUTCOME_ALLOW") return { outcome: "allow", evaluations };
  if (quorum === "short" || asked?.outcome === "OUTCOME_REQUIRES_CONSENSUS")
    return { outcome: "consensus", evaluations };
  if (asked?.outcome !== "OUTCOME_DENY_EXPLICIT" && isOwnCredential(subject, submitter)) {
    return { outcome: "allow", evaluations };
  }
  return denied(asked, evaluations);
}

/** Whether a vote of this user could bring the activity nearer to being allowed. */
export async function couldCount(read: Reader, facts: DecisionFacts, voter: Actor): Promise<boolean> {
  if (voter.organizationId !== facts.organization.id) return false;
  if (voter.isRootQuorumMember || voter.userId === facts.submitter.userId) return true;
  return facts.subject.governedBy === "policies" && couldHelp(read, questionOf(facts), voter.userId);
}

/** Whether a user who approves must still show further credentials. */
export async function owesAuthenticators(read: Reader, facts: DecisionFacts, voter: Actor): Promise<boolean> {
  if (!voter.hasMfaPolicies) return false;
  const approval = facts.approvals.find(({ actor }) => actor.userId === voter.userId);
  const standing = approval && (await mfaStandingOf(read, facts, voter.userId, approval.publicKeys));
  return standing?.satisfied === false;
}

const isOwnCredential = (subject: Subject, submitter: Actor): boolean =>
  subject.governedBy === "policies" && subject.ownerId !== undefined && subject.ownerId === submitter.userId;

/** Why nobody but another user may ask for this, if that is so. */
async function onlyUserProblem(read: Reader, facts: DecisionFacts): Promise<string | undefined> {
  const { subject, submitter, organization } = facts;
  const onlyUserId = subject.governedBy === "policies" ? subject.onlyUserId : undefined;
  if (onlyUserId === undefined || onlyUserId === submitter.userId) return undefined;
  const user = await loadUser(read, organization.id, onlyUserId);
  if (!user) fail("RESOURCE_NOT_FOUND", { kind: "user", id: onlyUserId, organizationId: organization.id });
  return `Only user ${onlyUserId} may ask for this: users import for themselves alone.`;
}

/** What each part of a decision comes to, for those who want to know beforehand. */
export async function simulate(
  read: Reader,
  facts: DecisionFacts,
): Promise<{ decision: Decision; rootQuorum: RootQuorum; explanations: { policyId: string; text: string }[] }> {
  const asked = facts.subject.governedBy === "policies" ? await askPolicies(read, questionOf(facts)) : undefined;
  const decision = { ...(await decide(read, facts)), evaluations: evaluationsOf(asked) };
  return { decision, rootQuorum: rootQuorum(facts), explanations: asked ? explain(asked) : [] };
}

type RootQuorum = "met" | "short" | "apart";

/** `short` while members approve but too few: the others may still join. It takes a member to start. */
function rootQuorum({ organization, submitter, approvals }: DecisionFacts): RootQuorum {
  const members = approvals.filter(({ actor }) => actor.isRootQuorumMember).length;
  if (members >= organization.quorumThreshold) return "met";
  return submitter.isRootQuorumMember ? "short" : "apart";
}

/** What policies are asked about these facts. */
function questionOf(facts: DecisionFacts): PolicyQuestion {
  const { organization, type, intent, subject, policyFacts, submitter, approvals, now } = facts;
  return {
    organizationId: organization.id,
    policiesVersion: organization.policiesVersion,
    activity: activityFacts(type, subject, intent),
    facts: policyFacts,
    submitterId: submitter.userId,
    approvals: approvals.flatMap(({ actor: { userId }, publicKeys }) =>
      publicKeys.map((publicKey) => ({ userId, publicKey })),
    ),
    now,
  };
}

const evaluationsOf = (asked: PolicyDecision | undefined): PolicyEvaluation[] =>
  asked?.evaluations.map(({ policyId, outcome }) => ({ policyId, outcome })) ?? [];

function denied(asked: PolicyDecision | undefined, evaluations: PolicyEvaluation[]): Decision {
  const reason = asked ? denialMessage(asked) : "No policies evaluated to outcome: Allow";
  const explanation = asked && {
    "@type": "type.googleapis.com/keystead.v1.PolicyExplanation",
    explanations: explain(asked),
  };
  const details = [...denialDetails(reason, evaluations), ...(explanation ? [explanation] : [])];
  return { outcome: "deny", reason, details, evaluations };
}

/** How a denial is told in the details of an error, for clients that look there. */
export const denialDetails = (message: string, policyEvaluations: readonly PolicyEvaluation[]): ErrorDetail[] => [
  { "@type": "type.googleapis.com/errors.v1.PolicyEnginePermissionError", message, policyEvaluations },
];
