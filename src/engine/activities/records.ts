import type { ErrorDetail, KeysteadError } from "../../kernel/errors.ts";
import { VOTE_LIFETIME_MS } from "../../kernel/limits.ts";
import type { Reader } from "../../storage/engine.ts";
import { prepared, preparedWrite } from "../../storage/prepared.ts";
import { parametersOfStored } from "../envelope.ts";
import { oldestFirst } from "../paging.ts";

/** The rows of activities, of votes, and of the further stamps that MFA asks for. */

export const activityStatuses = [
  "ACTIVITY_STATUS_CREATED",
  "ACTIVITY_STATUS_PENDING",
  "ACTIVITY_STATUS_COMPLETED",
  "ACTIVITY_STATUS_FAILED",
  "ACTIVITY_STATUS_CONSENSUS_NEEDED",
  "ACTIVITY_STATUS_REJECTED",
  "ACTIVITY_STATUS_AUTHENTICATORS_NEEDED",
] as const;
export type ActivityStatus = (typeof activityStatuses)[number];

export interface Failure {
  code: number;
  message: string;
  details: ErrorDetail[];
}

export interface ActivityRecord {
  id: string;
  organizationId: string;
  type: string;
  status: ActivityStatus;
  fingerprint: string;
  /** Under its one key, as `result`. */
  intent: Record<string, unknown>;
  /** The stamped body, which the intent is part of; not of older activities and of large ones that were denied. */
  body?: string;
  /** What was planned when it was submitted, for operations that plan. */
  plan?: unknown;
  /** Empty until there is a result. */
  result: Record<string, unknown>;
  failure: Failure | null;
  /** Whether app proofs were asked for; they are made when it is carried out. */
  wantsProofs: boolean;
  /** Milliseconds. */
  createdAt: number;
  updatedAt: number;
}

export interface VoteRecord {
  id: string;
  activityId: string;
  userId: string;
  userName: string;
  selection: "VOTE_SELECTION_APPROVED" | "VOTE_SELECTION_REJECTED";
  message: string;
  publicKey: string;
  signature: string;
  scheme: string;
  /** Milliseconds. */
  createdAt: number;
}

type ActivityRow = Awaited<ReturnType<typeof selectById>>[number];
type VoteRow = Awaited<ReturnType<typeof selectVotes>>[number];

const selectById = prepared<{ organizationId: string; id: string }>()((db, { organizationId, id }) =>
  db.selectFrom("activities").selectAll().where("organization_id", "=", organizationId).where("id", "=", id),
);
const selectByFingerprint = prepared<{ organizationId: string; fingerprint: string }>()(
  (db, { organizationId, fingerprint }) =>
    db
      .selectFrom("activities")
      .selectAll()
      .where("organization_id", "=", organizationId)
      .where("fingerprint", "=", fingerprint),
);
const selectVotes = prepared<{ organizationId: string; activityId: string }>()((db, { organizationId, activityId }) =>
  db
    .selectFrom("votes")
    .selectAll()
    .where("organization_id", "=", organizationId)
    .where("activity_id", "=", activityId),
);

export async function findActivity(
  read: Reader,
  organizationId: string,
  id: string,
): Promise<ActivityRecord | undefined> {
  const [row] = await selectById(read, { organizationId, id });
  return row && activityOfRow(row);
}

export async function findActivityByFingerprint(
  read: Reader,
  organizationId: string,
  fingerprint: string,
): Promise<ActivityRecord | undefined> {
  const [row] = await selectByFingerprint(read, { organizationId, fingerprint });
  return row && activityOfRow(row);
}

/**
 * The votes on an activity, the submission first: it alone has the activity's own id, so that the clocks of several servers
 * cannot take another vote for it.
 */
export async function findVotes(read: Reader, activity: ActivityRecord): Promise<VoteRecord[]> {
  const rows = await selectVotes(read, { organizationId: activity.organizationId, activityId: activity.id });
  const isSubmission = ({ id }: VoteRow) => Number(id === activity.id);
  return rows
    .sort((one, other) => isSubmission(other) - isSubmission(one) || oldestFirst(one, other))
    .map((row) => voteOf(row, activity));
}

/** `inserted` is false when another transaction stored an activity of this fingerprint meanwhile. */
export const insertActivity = preparedWrite<{
  id: string;
  organizationId: string;
  type: string;
  status: string;
  fingerprint: string;
  intent: string;
  body: string | null;
  plan: string | null;
  result: string | null;
  failure: string | null;
  wantsProofs: number;
  now: number;
}>()((db, row) =>
  db
    .insertInto("activities")
    .values({
      id: row.id,
      organization_id: row.organizationId,
      type: row.type,
      status: row.status,
      fingerprint: row.fingerprint,
      intent: row.intent,
      body: row.body,
      plan: row.plan,
      result: row.result,
      failure: row.failure,
      wants_proofs: row.wantsProofs,
      created_at: row.now,
      updated_at: row.now,
    })
    .onConflict((conflict) => conflict.columns(["organization_id", "fingerprint"]).doNothing())
    .returning("id"),
);

export const updateActivity = preparedWrite<{
  organizationId: string;
  id: string;
  status: string;
  result: string | null;
  failure: string | null;
  now: number;
}>()((db, row) =>
  db
    .updateTable("activities")
    .set({ status: row.status, result: row.result, failure: row.failure, updated_at: row.now })
    .where("organization_id", "=", row.organizationId)
    .where("id", "=", row.id)
    .returning("id"),
);

/** A user has one vote on an activity; voting again, after a vote has lapsed, replaces it. */
export const upsertVote = preparedWrite<{ [Key in keyof VoteRecord]: VoteRecord[Key] } & { organizationId: string }>()(
  (db, vote) =>
    db
      .insertInto("votes")
      .values({
        id: vote.id,
        organization_id: vote.organizationId,
        activity_id: vote.activityId,
        user_id: vote.userId,
        user_name: vote.userName,
        selection: vote.selection,
        message: vote.message,
        public_key: vote.publicKey,
        signature: vote.signature,
        scheme: vote.scheme,
        created_at: vote.createdAt,
      })
      .onConflict((conflict) =>
        conflict.columns(["organization_id", "activity_id", "user_id"]).doUpdateSet((set) => ({
          selection: set.ref("excluded.selection"),
          message: set.ref("excluded.message"),
          public_key: set.ref("excluded.public_key"),
          signature: set.ref("excluded.signature"),
          scheme: set.ref("excluded.scheme"),
          created_at: set.ref("excluded.created_at"),
        })),
      )
      .returning("id"),
);

/** A further stamp of a user who has voted already; the same credential again only renews its time. */
export const upsertAuthentication = preparedWrite<{
  id: string;
  organizationId: string;
  activityId: string;
  userId: string;
  message: string;
  publicKey: string;
  signature: string;
  scheme: string;
  createdAt: number;
}>()((db, row) =>
  db
    .insertInto("authentications")
    .values({
      id: row.id,
      organization_id: row.organizationId,
      activity_id: row.activityId,
      user_id: row.userId,
      message: row.message,
      public_key: row.publicKey,
      signature: row.signature,
      scheme: row.scheme,
      created_at: row.createdAt,
    })
    .onConflict((conflict) =>
      conflict.columns(["organization_id", "activity_id", "user_id", "public_key"]).doUpdateSet((set) => ({
        message: set.ref("excluded.message"),
        signature: set.ref("excluded.signature"),
        scheme: set.ref("excluded.scheme"),
        created_at: set.ref("excluded.created_at"),
      })),
    )
    .returning("id"),
);

/** Approvals and rejections lapse; the activity itself never does. */
export const isLive = (vote: VoteRecord, now: number): boolean => now - vote.createdAt < VOTE_LIFETIME_MS;

/** Whether votes can still change what becomes of it. */
export const isOpen = ({ status }: { status: ActivityStatus }): boolean =>
  status === "ACTIVITY_STATUS_CONSENSUS_NEEDED" || status === "ACTIVITY_STATUS_AUTHENTICATORS_NEEDED";

export const failureOf = (error: KeysteadError): Failure => ({
  code: error.grpcCode,
  message: error.message,
  details: error.details,
});

export function activityOfRow(row: ActivityRow): ActivityRecord {
  return {
    id: row.id,
    organizationId: row.organization_id,
    type: row.type,
    status: row.status as ActivityStatus,
    fingerprint: row.fingerprint,
    ...intentOfRow(row),
    ...(row.plan === null ? {} : { plan: JSON.parse(row.plan) as unknown }),
    result: row.result === null ? {} : (JSON.parse(row.result) as Record<string, unknown>),
    failure: row.failure === null ? null : (JSON.parse(row.failure) as Failure),
    wantsProofs: row.wants_proofs === 1,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

/** Under its one key: what is in the row, or null for what is in the body. */
function intentOfRow({ intent, body }: ActivityRow): Pick<ActivityRecord, "intent" | "body"> {
  const stored = JSON.parse(intent) as Record<string, unknown>;
  if (body === null) return { intent: stored };
  const [key = ""] = Object.keys(stored);
  return { intent: { [key]: parametersOfStored(body) }, body };
}

/** How an intent is stored of which the body is. */
export const intentInBody = (intent: Record<string, unknown>): string =>
  JSON.stringify(Object.fromEntries(Object.keys(intent).map((key) => [key, null])));

/** What stands for the activity's own body where a vote or a further stamp is stored; no message is empty. */
const SAME_BODY = "";

export const messageToStore = ({ body }: ActivityRecord, message: string): string =>
  message === body ? SAME_BODY : message;

export const storedMessage = ({ body }: ActivityRecord, message: string): string =>
  message === SAME_BODY ? (body ?? "") : message;

const voteOf = (row: VoteRow, activity: ActivityRecord): VoteRecord => ({
  id: row.id,
  activityId: row.activity_id,
  userId: row.user_id,
  userName: row.user_name,
  selection: row.selection,
  message: storedMessage(activity, row.message),
  publicKey: row.public_key,
  signature: row.signature,
  scheme: row.scheme,
  createdAt: row.created_at,
});

const selectAuthentications = prepared<{ organizationId: string; activityId: string; since: number }>()(
  (db, { organizationId, activityId, since }) =>
    db
      .selectFrom("authentications")
      .select(["id", "user_id", "public_key", "scheme", "message", "signature"])
      .where("organization_id", "=", organizationId)
      .where("activity_id", "=", activityId)
      .where("created_at", ">", since),
);

/** Stamps on an activity beyond those of its votes, the oldest first. */
export const findAuthentications = async (read: Reader, which: Parameters<typeof selectAuthentications>[1]) =>
  (await selectAuthentications(read, which)).sort(oldestFirst);
