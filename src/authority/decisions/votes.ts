import type { KeysteadError } from "../../kernel/errors.ts";
import type { Budget } from "../../policy/budget.ts";
import { isOwnOrganization } from "../callers.ts";
import type { Actor } from "../parties.ts";
import { decide, decisionOfPolicies, lookedUpBy } from "./decide.ts";
import { denialDetails, denialOf, policyReport, remedyFor } from "./denials.ts";
import type { DecisionFacts } from "./facts.ts";
import { mfaStandingOf } from "./mfa.ts";
import { couldHelp } from "./policies.ts";

/** Whether a user may approve or reject an open activity. */
export interface VoteRights {
  mayApprove: boolean;
  mayReject: boolean;
}

const EITHER_WAY: VoteRights = { mayApprove: true, mayReject: true };

/**
 * Members of the root quorum, the submitter, and users whose approval could help a policy to allow the activity may approve and reject. If the
 * present approvals suffice by now, because a policy changed, any user may approve, which carries it out.
 *
 * @throws OutOfBudget
 */
export function voteRights(facts: DecisionFacts, voter: Actor, steps: Budget): VoteRights {
  if (!isOwnOrganization(facts.organization, voter)) return { mayApprove: false, mayReject: false };
  if (voter.isRootQuorumMember || voter.userId === facts.submitter.userId) return EITHER_WAY;
  const others = without(facts, voter);
  // Requested before the search through the policies, which would otherwise run again for facts found missing later.
  facts.lookUps.need(lookedUpBy(others));
  if (facts.subject.governedBy === "policies" && couldHelp(facts, voter.userId, steps)) return EITHER_WAY;
  return { mayApprove: decide(others, steps).outcome === "allow", mayReject: false };
}

const without = (facts: DecisionFacts, { userId }: Actor): DecisionFacts => ({
  ...facts,
  approvals: facts.approvals.filter(({ actor }) => actor.userId !== userId),
});

/** The error for a vote that does not count, with the outcome of each policy for an approval by this user. */
export function voteDenial(facts: DecisionFacts, voter: Actor, steps: Budget): KeysteadError {
  const byPolicies = decisionOfPolicies({ ...without(facts, voter), submitter: voter }, steps);
  const message = "A vote of this user would not count on this activity.";
  return denialOf(denialDetails(message, policyReport(byPolicies, steps), remedyFor(facts, byPolicies)));
}

/** Whether a user who approves must still show further credentials. */
export function owesAuthenticators(facts: DecisionFacts, voter: Actor, steps: Budget): boolean {
  if (!voter.hasMfaPolicies) return false;
  const approval = facts.approvals.find(({ actor }) => actor.userId === voter.userId);
  const standing = approval && mfaStandingOf(facts, voter.userId, approval.credentials, steps);
  return standing?.satisfied === false;
}
