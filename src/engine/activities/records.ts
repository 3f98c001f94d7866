import type { ErrorDetail, KeysteadError } from "../../kernel/errors.ts";
import { VOTE_LIFETIME_MS } from "../../kernel/limits.ts";
import type { Reader } from "../../storage/engine.ts";
import { prepared, preparedWrite } from "../../storage/prepared.ts";
import { revokedAtOf } from "../identity/revocations.ts";
import type { CredentialRef, ShownCredential } from "../operations.ts";
import { oldestFirst } from "../paging.ts";
import { storedIntent, storedMessage } from "./bodies.ts";

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
  /** What a passkey signed beside the message, as it is stored. */
  assertion: string | null;
  /** What made the stamp, as it was then. */
  credential: CredentialRef;
  /** When it was taken back, by the deletion of that credential or of the user, while the activity was open; in milliseconds. */
  revokedAt: number | null;
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
/** All but what tells whether a vote was taken back. */
const voteColumns = [
  "id",
  "activity_id",
  "user_id",
  "user_name",
  "selection",
  "message",
  "public_key",
  "signature",
  "scheme",
  "assertion",
  "credential_id",
  "credential_type",
  "session_profile_id",
  "created_at",
] as const;
const selectVotes = prepared<{ organizationId: string; activityId: string }>()((db, { organizationId, activityId }) =>
  db
    .selectFrom("votes")
    .select([...voteColumns, "revoked_at"])
    .where("organization_id", "=", organizationId)
    .where("activity_id", "=", activityId),
);
/** Of an open activity: what was deleted since takes votes back as long as nothing is decided. */
const selectOpenVotes = prepared<{ organizationId: string; activityId: string }>()(
  (db, { organizationId, activityId }) =>
    db
      .selectFrom("votes")
      .select([...voteColumns, revokedAtOf("votes").as("revoked_at")])
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
  const select = isOpen(activity) ? selectOpenVotes : selectVotes;
  const rows = await select(read, { organizationId: activity.organizationId, activityId: activity.id });
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

/** A stamp as it is stored, whether it is a vote or shows a further credential. */
export interface NewStamp extends Record<string, unknown> {
  id: string;
  organizationId: string;
  activityId: string;
  userId: string;
  message: string;
  publicKey: string;
  signature: string;
  scheme: string;
  assertion: string | null;
  credentialId: string;
  credentialType: string;
  sessionProfileId: string | null;
  createdAt: number;
}

const stampColumns = (stamp: NewStamp) => ({
  id: stamp.id,
  organization_id: stamp.organizationId,
  activity_id: stamp.activityId,
  user_id: stamp.userId,
  message: stamp.message,
  public_key: stamp.publicKey,
  signature: stamp.signature,
  scheme: stamp.scheme,
  assertion: stamp.assertion,
  credential_id: stamp.credentialId,
  credential_type: stamp.credentialType,
  session_profile_id: stamp.sessionProfileId,
  created_at: stamp.createdAt,
});

/** A user has one vote on an activity; voting again, after a vote has lapsed or was taken back, replaces it. */
export const upsertVote = preparedWrite<NewStamp & { userName: string; selection: VoteRecord["selection"] }>()(
  (db, vote) =>
    db
      .insertInto("votes")
      .values({ ...stampColumns(vote), user_name: vote.userName, selection: vote.selection })
      .onConflict((conflict) =>
        conflict.columns(["organization_id", "activity_id", "user_id"]).doUpdateSet((set) => ({
          selection: set.ref("excluded.selection"),
          message: set.ref("excluded.message"),
          public_key: set.ref("excluded.public_key"),
          signature: set.ref("excluded.signature"),
          scheme: set.ref("excluded.scheme"),
          assertion: set.ref("excluded.assertion"),
          credential_id: set.ref("excluded.credential_id"),
          credential_type: set.ref("excluded.credential_type"),
          session_profile_id: set.ref("excluded.session_profile_id"),
          revoked_at: null,
          created_at: set.ref("excluded.created_at"),
        })),
      )
      .returning("id"),
);

/** A further stamp of a user who has voted already; the same credential again only renews its time. */
export const upsertAuthentication = preparedWrite<NewStamp>()((db, stamp) =>
  db
    .insertInto("authentications")
    .values(stampColumns(stamp))
    .onConflict((conflict) =>
      conflict.columns(["organization_id", "activity_id", "user_id", "public_key"]).doUpdateSet((set) => ({
        message: set.ref("excluded.message"),
        signature: set.ref("excluded.signature"),
        scheme: set.ref("excluded.scheme"),
        assertion: set.ref("excluded.assertion"),
        credential_id: set.ref("excluded.credential_id"),
        credential_type: set.ref("excluded.credential_type"),
        session_profile_id: set.ref("excluded.session_profile_id"),
        created_at: set.ref("excluded.created_at"),
      })),
    )
    .returning("id"),
);

/** Approvals and rejections lapse, and are taken back; the activity itself never lapses. */
export const isLive = ({ createdAt, revokedAt }: VoteRecord, now: number): boolean =>
  revokedAt === null && now - createdAt < VOTE_LIFETIME_MS;

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

function intentOfRow({ intent, body }: ActivityRow): Pick<ActivityRecord, "intent" | "body"> {
  const stored = JSON.parse(intent) as Record<string, unknown>;
  return body === null ? { intent: stored } : { intent: storedIntent(body, stored), body };
}

const voteOf = (row: VoteRow, activity: ActivityRecord): VoteRecord => ({
  id: row.id,
  activityId: row.activity_id,
  userId: row.user_id,
  userName: row.user_name,
  selection: row.selection,
  message: storedMessage(activity.body, row.message),
  publicKey: row.public_key,
  signature: row.signature,
  scheme: row.scheme,
  assertion: row.assertion,
  credential: credentialOf(row),
  revokedAt: row.revoked_at,
  createdAt: row.created_at,
});

/** The credential that a vote was stamped with. */
export const shownBy = ({ credential, publicKey }: VoteRecord): ShownCredential => ({ ...credential, publicKey });

/** The credential that a stored stamp names. */
export const credentialOf = (
  row: Pick<VoteRow, "credential_id" | "credential_type" | "session_profile_id">,
): CredentialRef => ({
  id: row.credential_id ?? "",
  type: row.credential_type ?? "",
  ...(row.session_profile_id === null ? {} : { sessionProfileId: row.session_profile_id }),
});

const selectAuthentications = prepared<{ organizationId: string; activityId: string; since: number }>()(
  (db, { organizationId, activityId, since }) =>
    db
      .selectFrom("authentications")
      .select(["id", "user_id", "public_key", "scheme", "message", "signature", "assertion"])
      .select(["credential_id", "credential_type", "session_profile_id"])
      .where("organization_id", "=", organizationId)
      .where("activity_id", "=", activityId)
      .where("created_at", ">", since)
      .where(revokedAtOf("authentications"), "is", null),
);

/** Stamps on an activity beyond those of its votes that were not taken back, the oldest first. */
export const findAuthentications = async (read: Reader, which: Parameters<typeof selectAuthentications>[1]) =>
  (await selectAuthentications(read, which)).sort(oldestFirst);
