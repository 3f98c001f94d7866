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

/** The facts of a decision, from an incoming request or from stored rows. */

const APPROVED = "VOTE_SELECTION_APPROVED";

/** The facts of a decision. Those passed in are read in one transaction; what the decision looks up is loaded on demand. */
export interface LoadableFacts extends DecisionFacts {
  readonly organization: Organization;
  readonly lookUps: LoadingLookUps;
}

/** An activity to decide on, without its voters. */
export interface Proposal {
  operation: ActivityOperation;
  version: ActivityVersion;
  /** In the newest version's form. */
  intent: unknown;
  /** The plan, for operations that have one. */
  plan: unknown;
  organization: Organization;
  /** Milliseconds. */
  now: number;
  /** The organization's users, if they were read already. */
  electorate?: Electorate;
  /** Policies to use in place of the organization's, for simulations. */
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

/** The resource and action of an activity, for policies, MFA policies and session profiles; see `Subject`. */
const classOf = (subject: Subject): { resource: string; action: string } =>
  subject.governedBy === "rootQuorum" ? { resource: "ORGANIZATION", action: subject.action ?? "UPDATE" } : subject;

/** The proposal of a stored activity. */
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
 * The facts of a stored activity as of now: the approvals that have neither expired nor been revoked, with the current state of their users.
 * `ballot` is a vote that is being cast. It replaces that user's earlier vote, or is added to it if MFA policies may require both
 * credentials.
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
  // The submitter's credential is that of the submission, whichever they use now.
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

/** Drops proofs of contacts that their users no longer have. A user without any other credential does not approve. */
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

/** Without duplicates; the first of each is kept. */
const oneOfEach = (credentials: readonly ShownCredential[]): ShownCredential[] =>
  [...new Map(credentials.toReversed().map((each) => [nameOfCredential(each), each])).values()].reverse();

/** Adds the further stamps, by which users with MFA policies have shown more than one credential. */
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

/** A deleted submitter does not count; the approvals of others may still suffice. */
const departed = (organizationId: string, userId: string): Actor => ({
  userId,
  userName: "",
  organizationId,
  isRootQuorumMember: false,
  hasMfaPolicies: false,
  credential: { id: "", type: "" },
});
