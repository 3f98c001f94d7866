import type { Reader } from "../storage/engine.ts";
import { type ActivityRecord, isLive, type VoteRecord } from "./activities.ts";
import type { DecisionFacts } from "./authorize.ts";
import type { ActivityOperation, ActivityVersion, Actor, Organization } from "./declare.ts";
import type { Registry } from "./registry.ts";
import { findApprovers, findVoter } from "./voters.ts";

/** The facts of a decision, from a request that comes in or from what is stored. */

/** What does not depend on who votes. */
export interface Matter {
  operation: ActivityOperation;
  version: ActivityVersion;
  /** In the newest version's form. */
  intent: unknown;
  organization: Organization;
  /** Milliseconds. */
  now: number;
}

export function factsOf(
  { operation, version, intent, organization, now }: Matter,
  submitter: Actor,
  approvals: DecisionFacts["approvals"],
): DecisionFacts {
  return {
    organization,
    type: version.type,
    intent,
    subject: operation.subject(intent),
    policyFacts: (read) => operation.policyFacts({ intent, read, organization }),
    submitter,
    approvals,
    now,
  };
}

/** The matter of a stored activity. */
export function matterOf(
  registry: Registry,
  activity: ActivityRecord,
  organization: Organization,
  now: number,
): Matter {
  const { operation, version } = registry.activityOfType(activity.type);
  const intent = version.upgrade(activity.intent[version.intentKey]);
  return { operation, version, intent, organization, now };
}

/**
 * The facts of a stored activity as of now: approvals that have not lapsed, of users who still exist, with what these
 * users are today. `ballot` is a vote that is being cast: it stands in the place of that user's earlier one.
 */
export async function factsOfStored(
  read: Reader,
  matter: Matter,
  votes: readonly VoteRecord[],
  ballot?: { actor: Actor; publicKey: string; approves: boolean },
): Promise<DecisionFacts> {
  const { organization, now } = matter;
  const others = votes.filter((vote) => vote.userId !== ballot?.actor.userId && isLive(vote, now));
  const approvals = await findApprovers(read, organization.id, others);
  if (ballot?.approves) approvals.push({ actor: ballot.actor, publicKey: ballot.publicKey });
  const submitterId = votes[0]?.userId ?? "";
  const submitter =
    submitterId === ballot?.actor.userId ? ballot.actor : await findVoter(read, organization.id, submitterId);
  return factsOf(matter, submitter ?? departed(organization.id, submitterId), approvals);
}

/** A submitter who is gone counts for nothing; the others may still carry what was asked. */
const departed = (organizationId: string, userId: string): Actor => ({
  userId,
  userName: "",
  organizationId,
  isRootQuorumMember: false,
  credential: { id: "", type: "" },
});
