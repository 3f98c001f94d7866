import { VOTE_LIFETIME_MS } from "../../kernel/limits.ts";
import type { Outcome } from "../../policy/decision.ts";
import type { Reader } from "../../storage/engine.ts";
import { type ActivityRecord, findAuthentications, isLive, type VoteRecord } from "../activities/records.ts";
import { findApprovers, findVoter } from "../identity/voters.ts";
import type {
  ActivityOperation,
  ActivityVersion,
  Actor,
  Organization,
  PolicyFacts,
  Registry,
  Subject,
} from "../operations.ts";

const APPROVED = "VOTE_SELECTION_APPROVED";

/** The facts of a decision, from a request that comes in or from what is stored. */

/** What each policy came to; stored with the vote that made it be asked. */
export interface PolicyEvaluation {
  policyId: string;
  /** The last of an MFA policy that is not met. */
  outcome: Outcome | "OUTCOME_REQUIRES_AUTHENTICATORS";
}

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

/** An activity that is decided on, without those who vote on it. */
export interface Proposal {
  operation: ActivityOperation;
  version: ActivityVersion;
  /** In the newest version's form. */
  intent: unknown;
  /** What was planned, for operations that plan. */
  plan: unknown;
  organization: Organization;
  /** Milliseconds. */
  now: number;
}

export function factsOf(
  { operation, version, intent, plan, organization, now }: Proposal,
  submitter: Actor,
  approvals: DecisionFacts["approvals"],
): DecisionFacts {
  return {
    organization,
    type: version.type,
    intent,
    subject: operation.subject(intent),
    policyFacts: once((read) => operation.policyFacts({ intent, plan, read, organization })),
    submitter,
    approvals,
    now,
  };
}

/** Policies, a session's scope and MFA may each ask; the answer is the same within one decision. */
function once(load: (read: Reader) => Promise<PolicyFacts>): (read: Reader) => Promise<PolicyFacts> {
  let loaded: Promise<PolicyFacts> | undefined;
  return (read) => {
    loaded ??= load(read);
    return loaded;
  };
}

/** What a stored activity proposes. */
export function proposalOf(
  registry: Registry,
  activity: ActivityRecord,
  organization: Organization,
  now: number,
): Proposal {
  const { operation, version } = registry.activityOfType(activity.type);
  const intent = version.upgrade(activity.intent[version.intentKey]);
  return { operation, version, intent, plan: activity.plan, organization, now };
}

/**
 * The facts of a stored activity as of now: approvals that have not lapsed, of users who still exist, with what these
 * users are today. `ballot` is a vote that is being cast: it stands in the place of that user's earlier one, or beside it
 * where MFA policies may ask for both credentials.
 */
export async function factsOfStored(
  read: Reader,
  proposal: Proposal,
  votes: readonly VoteRecord[],
  ballot?: { actor: Actor; publicKey: string; approves: boolean },
): Promise<DecisionFacts> {
  const { organization, now } = proposal;
  const live = votes.filter((vote) => isLive(vote, now));
  const others = live.filter(({ userId }) => userId !== ballot?.actor.userId);
  const voters = await findApprovers(read, organization.id, others);
  if (ballot?.approves) {
    const earlier = ballot.actor.hasMfaPolicies
      ? live.find(({ userId, selection }) => userId === ballot.actor.userId && selection === APPROVED)
      : undefined;
    voters.push({ actor: ballot.actor, publicKey: earlier?.publicKey ?? ballot.publicKey });
  }
  const approvals = await withFurtherStamps(read, votes[0]?.activityId, proposal, voters);
  if (ballot?.approves) approvals.at(-1)?.publicKeys.add(ballot.publicKey);
  const submitterId = votes[0]?.userId ?? "";
  const submitter =
    submitterId === ballot?.actor.userId ? ballot.actor : await findVoter(read, organization.id, submitterId);
  return factsOf(
    proposal,
    submitter ?? departed(organization.id, submitterId),
    approvals.map(({ actor, publicKeys }) => ({ actor, publicKeys: [...publicKeys] })),
  );
}

/** The stamps by which users with MFA policies have shown more than one credential. */
async function withFurtherStamps(
  read: Reader,
  activityId: string | undefined,
  { organization, now }: Proposal,
  voters: readonly { actor: Actor; publicKey: string }[],
): Promise<{ actor: Actor; publicKeys: Set<string> }[]> {
  const further =
    activityId !== undefined && voters.some(({ actor }) => actor.hasMfaPolicies)
      ? await findAuthentications(read, { organizationId: organization.id, activityId, since: now - VOTE_LIFETIME_MS })
      : [];
  return voters.map(({ actor, publicKey }) => {
    const own = further.filter(({ user_id }) => user_id === actor.userId);
    return { actor, publicKeys: new Set([publicKey, ...own.map(({ public_key }) => public_key)]) };
  });
}

/** A submitter who is gone counts for nothing; the others may still carry what was asked. */
const departed = (organizationId: string, userId: string): Actor => ({
  userId,
  userName: "",
  organizationId,
  isRootQuorumMember: false,
  hasMfaPolicies: false,
  credential: { id: "", type: "" },
});
