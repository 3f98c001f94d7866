import { owesAuthenticators, type VoteRights, voteRights } from "../../authority/decisions/votes.ts";
import type { Actor } from "../../authority/parties.ts";
import { OutOfBudget } from "../../policy/budget.ts";
import type { Reader } from "../../storage/engine.ts";
import type { RequestBudget } from "../decisions/budget.ts";
import type { LoadableFacts } from "../decisions/facts.ts";
import { onFacts } from "../decisions/loading-look-ups.ts";
import { type Timestamp, timestampOf } from "../fields.ts";
import type { User } from "../identity/user-schemas.ts";
import { type AskedUsers, departedUser, loadUser } from "../identity/users.ts";
import { type AppProof, findAppProofs } from "../proofs/app-proofs.ts";
import { type ActivityRecord, type ActivityStatus, type Failure, isLive, isOpen, type VoteRecord } from "./rows.ts";

/** Activities as shown in responses. */

/** An activity as the API shows it. The two times are milliseconds until `renderActivity` formats them. */
export interface ActivityView {
  id: string;
  organizationId: string;
  status: ActivityStatus;
  type: string;
  intent: Record<string, unknown>;
  result: Record<string, unknown>;
  votes: VoteView[];
  /** Present if they were requested and the activity was carried out. */
  appProofs?: AppProof[];
  fingerprint: string;
  canApprove: boolean;
  canReject: boolean;
  /** Set when `canApprove` and `canReject` are false only because finding out would cost too much. */
  votingRightsUnknown?: string;
  createdAt: number;
  updatedAt: number;
  failure?: Failure;
}

export interface VoteView {
  id: string;
  userId: string;
  /** As of now; for a deleted user, the name at the time of the vote. */
  user: User;
  activityId: string;
  selection: VoteRecord["selection"];
  /** The stamped body. */
  message: string;
  publicKey: string;
  signature: string;
  scheme: string;
  createdAt: Timestamp;
  revokedAt?: Timestamp;
}

const NO_RIGHTS: VoteRights = { mayApprove: false, mayReject: false };

/**
 * The activity as shown to `viewer`, or without a viewer's rights. `rights` tells whether they may vote on an open activity; `owes`, whether
 * they have approved and must still show further credentials; `voters` are the users who voted, if they were read already.
 */
export async function viewActivity(
  read: Reader,
  activity: ActivityRecord,
  votes: readonly VoteRecord[],
  viewer: { actor?: Actor; rights?: VoteRights; owes?: boolean; voters?: AskedUsers | undefined; now: number },
): Promise<ActivityView> {
  const voted = votes.some((vote) => vote.userId === viewer.actor?.userId && isLive(vote, viewer.now));
  const { mayApprove, mayReject } = (isOpen(activity) && viewer.rights) || NO_RIGHTS;
  const { id, organizationId } = activity;
  const isProved = activity.wantsProofs && activity.status === "ACTIVITY_STATUS_COMPLETED";
  return {
    id,
    organizationId,
    status: activity.status,
    type: activity.type,
    intent: activity.intent,
    result: activity.result,
    votes: await Promise.all(votes.map((vote) => viewVote(read, organizationId, vote, viewer.voters))),
    ...(isProved ? { appProofs: await findAppProofs(read, organizationId, id) } : {}),
    fingerprint: activity.fingerprint,
    canApprove: mayApprove && (!voted || viewer.owes === true),
    canReject: mayReject,
    createdAt: activity.createdAt,
    updatedAt: activity.updatedAt,
    ...(activity.failure ? { failure: activity.failure } : {}),
  };
}

const UNKNOWN_RIGHTS =
  "Whether you may vote is not shown here: evaluating the organization's policies takes too much work. get_activity shows it for a single activity, and so does a vote.";

/** The activity as shown to the user who asks. Whether they may vote on an open one is determined within their budget. */
export async function viewActivityAs(
  read: Reader,
  activity: ActivityRecord,
  votes: readonly VoteRecord[],
  viewer: { actor: Actor; budget: RequestBudget; voters?: AskedUsers | undefined; now: number },
  loadFacts: () => Promise<LoadableFacts>,
): Promise<ActivityView> {
  const { actor, budget, voters, now } = viewer;
  if (!isOpen(activity)) return viewActivity(read, activity, votes, { actor, voters, now });
  try {
    const facts = await loadFacts();
    const rights = await onFacts(read, facts, budget, (steps) => voteRights(facts, actor, steps));
    const owes = await onFacts(read, facts, budget, (steps) => owesAuthenticators(facts, actor, steps));
    return await viewActivity(read, activity, votes, { actor, rights, owes, voters, now });
  } catch (error) {
    if (!(error instanceof OutOfBudget)) throw error;
    const view = await viewActivity(read, activity, votes, { actor, voters, now });
    return { ...view, votingRightsUnknown: UNKNOWN_RIGHTS };
  }
}

/** RFC 3339 text, or seconds and nanoseconds. */
export type ActivityTimes = "text" | "object";

/** The activity for JSON, with its times in the given format. */
export function renderActivity(activity: ActivityView, times: ActivityTimes): Record<string, unknown> {
  const render = times === "text" ? (time: number) => new Date(time).toISOString() : timestampOf;
  return { ...activity, createdAt: render(activity.createdAt), updatedAt: render(activity.updatedAt) };
}

async function viewVote(
  read: Reader,
  organizationId: string,
  vote: VoteRecord,
  voters: AskedUsers | undefined,
): Promise<VoteView> {
  const user: User =
    (await loadUser(read, organizationId, vote.userId, voters?.get(vote.userId))) ??
    departedUser(vote.userId, vote.userName, vote.createdAt);
  return {
    id: vote.id,
    userId: vote.userId,
    user,
    activityId: vote.activityId,
    selection: vote.selection,
    message: vote.message,
    publicKey: vote.publicKey,
    signature: vote.signature,
    scheme: vote.scheme,
    ...(vote.revokedAt === null ? {} : { revokedAt: timestampOf(vote.revokedAt) }),
    createdAt: timestampOf(vote.createdAt),
  };
}
