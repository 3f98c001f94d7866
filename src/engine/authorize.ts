import type { ErrorDetail } from "../kernel/errors.ts";
import type { Actor, Organization, Subject } from "./declare.ts";

/** The outcome of one look at an activity and its votes. */
export type Decision =
  | { outcome: "allow" }
  /** Further approvals can still make it happen. */
  | { outcome: "consensus" }
  | { outcome: "deny"; reason: string; details: ErrorDetail[] };

/** The facts of a decision, all read in one transaction. */
export interface DecisionFacts {
  organization: Organization;
  subject: Subject;
  /** Who asked first. */
  submitter: Actor;
  /** The users who approve, the submitter among them; one entry a user. */
  approvers: readonly Actor[];
}

/**
 * Decides, in the order that the specification gives: denials that are built in, the root quorum, policies, a user's own
 * credentials, and denial. There are no policies yet; their place is marked below.
 */
export function decide(facts: DecisionFacts): Decision {
  const { subject, submitter } = facts;
  const quorum = rootQuorum(facts);
  if (quorum === "met") return { outcome: "allow" };
  // Policies stand here: explicit denial, allowance, or consensus, before the default for own credentials.
  if (subject.governedBy === "policies" && subject.ownerId !== undefined && subject.ownerId === submitter.userId) {
    return { outcome: "allow" };
  }
  if (quorum === "short") return { outcome: "consensus" };
  return denied("No policies evaluated to outcome: Allow");
}

/** Whether a vote of this user could bring an activity of the organization nearer to being allowed. */
export function couldCount(organization: Organization, voter: Actor): boolean {
  return voter.organizationId === organization.id && voter.isRootQuorumMember;
}

/** `short` while members approve but too few: the others may still join. It takes a member to start. */
function rootQuorum({ organization, submitter, approvers }: DecisionFacts): "met" | "short" | "apart" {
  const members = approvers.filter(({ isRootQuorumMember }) => isRootQuorumMember).length;
  if (members >= organization.quorumThreshold) return "met";
  return submitter.isRootQuorumMember ? "short" : "apart";
}

function denied(message: string): Decision {
  const detail = {
    "@type": "type.googleapis.com/errors.v1.PolicyEnginePermissionError",
    message,
    policyEvaluations: [],
  };
  return { outcome: "deny", reason: message, details: [detail] };
}
