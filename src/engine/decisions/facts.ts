import { isAttested } from "../../authority/attested.ts";
import type { ApprovalFacts, DecisionFacts } from "../../authority/decisions/facts.ts";
import type { Actor, ShownCredential, Subject } from "../../authority/parties.ts";
import type { Policy } from "../../policy/policy.ts";
import type { Reader } from "../../storage/engine.ts";
import { type ActivityRecord, findFurtherStamps, isLive, shownBy, type VoteRecord } from "../activities/rows.ts";
import { isLost, nameOfCredential } from "../identity/shown-credentials.ts";
import { loadUser } from "../identity/users.ts";
import { findApprovers, findVoter } from "../identity/voters.ts";
import type { ActivityOperation, ActivityVersion, Organization, Registry } from "../operations.ts";
import { Electorate } from "./electorate.ts";
import { LoadingLookUps } from "./loading-look-ups.ts";

/** The facts of a decision, from a request that comes in or from what is stored. */

const APPROVED = "VOTE_SELECTION_APPROVED";

/** The facts of a decision, those that it is given all read in one transaction; what it looks up is loaded as it asks for it. */
export interface LoadableFacts extends DecisionFacts {
  readonly organization: Organization;
  readonly lookUps: LoadingLookUps;
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
  /** Where the organization's users are known already. */
  electorate?: Electorate;
  /** In the place of the organization's stored ones, where others are tried out. */
  policies?: readonly Policy[];
}

export function factsOf(proposal: Proposal, submitter: Actor, approvals: readonly ApprovalFacts[]): LoadableFacts {
  const { operation, version, intent, plan, organization, now, policies } = proposal;
  const { electorate = new Electorate(organization.id) } = proposal;
  const subject = operation.subject(intent);
  const lookUps = new LoadingLookUps({
    organization,
    activity: { type: version.type, ...classOf(subject), intent },
    loadActivity: (read) => operation.policyFacts({ intent, plan, read, organization }),
    electorate,
    policies,
  });
  return { organization, subject, lookUps, submitter, approvals, now };
}

/** What policies, MFA policies and session profiles see an activity as; see `Subject`. */
const classOf = (subject: Subject): { resource: string; action: string } =>
  subject.governedBy === "rootQuorum" ? { resource: "ORGANIZATION", action: subject.action ?? "UPDATE" } : subject;

/** What a stored activity proposes. */
export function proposalOf(
  registry: Registry,
  activity: ActivityRecord,
  organization: Organization,
  now: number,
  electorate?: Electorate,
): Proposal {
  const { operation, version } = registry.activityOfType(activity.type);
  const intent = version.upgrade(activity.intent[version.intentKey]);
  const known = electorate ? { electorate } : {};
  return { operation, version, intent, plan: activity.plan, organization, now, ...known };
}

/**
 * The facts of a stored activity as of now: approvals that have not lapsed and were not taken back, with what their users are
 * today. `ballot` is a vote that is being cast: it stands in the place of that user's earlier one, or beside it
 * where MFA policies may ask for both credentials.
 */
export async function factsOfStored(
  read: Reader,
  proposal: Proposal,
  activity: ActivityRecord,
  votes: readonly VoteRecord[],
  ballot?: { actor: Actor; credential: ShownCredential; approves: boolean },
): Promise<LoadableFacts> {
  const { organization, now } = proposal;
  const live = votes.filter((vote) => isLive(vote, now));
  const others = live.filter(({ userId }) => userId !== ballot?.actor.userId);
  const voters = await findApprovers(read, organization.id, others);
  if (ballot?.approves) {
    const earlier = ballot.actor.hasMfaPolicies
      ? live.find(({ userId, selection }) => userId === ballot.actor.userId && selection === APPROVED)
      : undefined;
    voters.push({ actor: ballot.actor, credential: earlier ? shownBy(earlier) : ballot.credential });
  }
  const approvals = await withFurtherStamps(read, activity, proposal.now, voters);
  if (ballot?.approves) approvals.at(-1)?.credentials.push(ballot.credential);
  const submitterId = votes[0]?.userId ?? "";
  const submitter =
    submitterId === ballot?.actor.userId ? ballot.actor : await findVoter(read, organization.id, submitterId);
  // Whoever asked did so with the credential of the submission, whatever they show now.
  const credential = votes[0]?.credential ?? { id: "", type: "" };
  return factsOf(
    proposal,
    { ...(submitter ?? departed(organization.id, submitterId)), credential },
    await withoutLost(
      read,
      organization.id,
      approvals.map(({ actor, credentials }) => ({ actor, credentials: oneOfEach(credentials) })),
    ),
  );
}

/** A contact counts as long as its user has it; who has shown nothing else does not approve. */
async function withoutLost(
  read: Reader,
  organizationId: string,
  approvals: readonly ApprovalFacts[],
): Promise<ApprovalFacts[]> {
  const kept = await Promise.all(
    approvals.map(async ({ actor, credentials }) => {
      if (!credentials.some(({ type }) => isAttested(type))) return { actor, credentials };
      const user = await loadUser(read, organizationId, actor.userId);
      return { actor, credentials: credentials.filter((credential) => !isLost(credential, user)) };
    }),
  );
  return kept.filter(({ credentials }) => credentials.length > 0);
}

/** Each once, where it came first. */
const oneOfEach = (credentials: readonly ShownCredential[]): ShownCredential[] =>
  [...new Map(credentials.toReversed().map((each) => [nameOfCredential(each), each])).values()].reverse();

/** The stamps by which users with MFA policies have shown more than one credential. */
async function withFurtherStamps(
  read: Reader,
  activity: ActivityRecord,
  now: number,
  voters: readonly { actor: Actor; credential: ShownCredential }[],
): Promise<{ actor: Actor; credentials: ShownCredential[] }[]> {
  const isAsked = voters.some(({ actor }) => actor.hasMfaPolicies);
  const further = isAsked ? (await findFurtherStamps(read, activity)).filter((stamp) => isLive(stamp, now)) : [];
  return voters.map(({ actor, credential }) => {
    const own = further.filter(({ userId }) => userId === actor.userId);
    return { actor, credentials: [credential, ...own.map(shownBy)] };
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
