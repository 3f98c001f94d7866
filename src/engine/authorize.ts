import type { ErrorDetail } from "../kernel/errors.ts";
import { denialMessage, type Outcome } from "../policy/decision.ts";
import type { Reader } from "../storage/engine.ts";
import type { Actor, Organization, PolicyFacts, Subject } from "./declare.ts";
import {
  activityFacts,
  askPolicies,
  couldHelp,
  explain,
  type PolicyDecision,
  type PolicyQuestion,
} from "./policies.ts";

/** What each policy came to; stored with the vote that made it be asked. */
export interface PolicyEvaluation {
  policyId: string;
  outcome: Outcome;
}

/** The outcome of one look at an activity and its votes. */
export type Decision = { evaluations: PolicyEvaluation[] } & (
  | { outcome: "allow" }
  /** Further approvals can still make it happen. */
  | { outcome: "consensus" }
  | { outcome: "deny"; reason: string; details: ErrorDetail[] }
);

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
  /** The users who approve, the submitter among them; one entry a user, with the key that they stamped with. */
  approvals: readonly { actor: Actor; publicKey: string }[];
  /** Milliseconds. */
  now: number;
}

/**
 * Decides, in the order that the specification gives: the root quorum, policies, a user's own credentials, and denial. The
 * root quorum stands above every policy; while it is short of members, what policies allow is allowed, and what they deny
 * waits for it.
 */
export async function decide(read: Reader, facts: DecisionFacts): Promise<Decision> {
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
  if (voter.isRootQuorumMember) return true;
  return facts.subject.governedBy === "policies" && couldHelp(read, questionOf(facts), voter.userId);
}

const isOwnCredential = (subject: Subject, submitter: Actor): boolean =>
  subject.governedBy === "policies" && subject.ownerId !== undefined && subject.ownerId === submitter.userId;

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
    approvals: approvals.map(({ actor, publicKey }) => ({ userId: actor.userId, publicKey })),
    now,
  };
}

const evaluationsOf = (asked: PolicyDecision | undefined): PolicyEvaluation[] =>
  asked?.evaluations.map(({ policyId, outcome }) => ({ policyId, outcome })) ?? [];

function denied(asked: PolicyDecision | undefined, policyEvaluations: PolicyEvaluation[]): Decision {
  const message = asked ? denialMessage(asked) : "No policies evaluated to outcome: Allow";
  const denial = {
    "@type": "type.googleapis.com/errors.v1.PolicyEnginePermissionError",
    message,
    policyEvaluations,
  };
  const explanation = asked && {
    "@type": "type.googleapis.com/keystead.v1.PolicyExplanation",
    explanations: explain(asked),
  };
  const details = explanation ? [denial, explanation] : [denial];
  return { outcome: "deny", reason: message, details, evaluations: policyEvaluations };
}
