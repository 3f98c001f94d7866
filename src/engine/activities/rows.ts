import type { CredentialRef, ShownCredential } from "../../authority/parties.ts";
import type { ErrorDetail, KeysteadError } from "../../kernel/errors.ts";
import { MAX_ATTESTATIONS, MAX_FURTHER_STAMPS, VOTE_LIFETIME_MS } from "../../kernel/limits.ts";
import type { Reader, StoredRow } from "../../storage/engine.ts";
import { laterInsert, prepared, preparedWrite, uniqueRow } from "../../storage/prepared.ts";
import { revokedAtOf } from "../identity/revocations.ts";
import { oldestFirst } from "../paging.ts";
import { intentToStore, storedIntent, storedMessage } from "./bodies.ts";

/** The rows of activities, of votes, and of the further stamps that MFA requires. */

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
  /** An object with one key, the intent's name; likewise `result`. */
  intent: Record<string, unknown>;
  /** The stamped body, which contains the intent. Absent for older activities and for large ones that were denied. */
  body?: string;
  /** The plan made at submission, for operations that have one. */
  plan?: unknown;
  /** Empty until there is a result. */
  result: Record<string, unknown>;
  failure: Failure | null;
  /** Whether app proofs were requested. They are made when it is carried out. */
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
  /** What a passkey signed in addition to the message, as stored. */
  assertion: string | null;
  /** The credential that made the stamp, as of then. */
  credential: CredentialRef;
  /** When it was revoked, by deletion of the credential or of the user while the activity was open. Milliseconds. */
  revokedAt: number | null;
  /** Milliseconds. */
  createdAt: number;
}

export type ActivityRow = Awaited<ReturnType<typeof selectById>>[number];
export type VoteRow = Awaited<ReturnType<typeof selectVotes>>[number];

const selectById = prepared<{ organizationId: string; id: string }>()((db, { organizationId, id }) =>
  db.selectFrom("activities").selectAll().where("organization_id", "=", organizationId).where("id", "=", id),
);
const findByFingerprint = uniqueRow("activities", { organizationId: "organization_id", fingerprint: "fingerprint" });
/** All columns but the one that tells whether a vote was revoked. */
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
const seesVotes =
  ({ activityId }: { activityId: string }) =>
  (_table: string, row: StoredRow) =>
    row.activity_id === activityId;
const selectVotes = prepared<{ organizationId: string; activityId: string }>()(
  (db, { organizationId, activityId }) =>
    db
      .selectFrom("votes")
      .select([...voteColumns, "revoked_at"])
      .where("organization_id", "=", organizationId)
      .where("activity_id", "=", activityId),
  { sees: seesVotes },
);
/** The votes of an open activity, with whether they were revoked: deletions revoke votes until the activity is decided. */
const selectOpenVotes = prepared<{ organizationId: string; activityId: string }>()(
  (db, { organizationId, activityId }) =>
    db
      .selectFrom("votes")
      .select([...voteColumns, revokedAtOf("votes").as("revoked_at")])
      .where("organization_id", "=", organizationId)
      .where("activity_id", "=", activityId),
  { sees: seesVotes },
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
  const row = await findByFingerprint(read, { organizationId, fingerprint });
  return row && activityOfRow(row);
}

/**
 * The votes on an activity, the submission first. The submission is recognized by its id, which equals the activity's, because the clocks
 * of several servers may differ.
 */
export async function findVotes(read: Reader, activity: ActivityRecord): Promise<VoteRecord[]> {
  const select = isOpen(activity) ? selectOpenVotes : selectVotes;
  const rows = await select(read, { organizationId: activity.organizationId, activityId: activity.id });
  return votesOf(rows, activity);
}

/** Like `findVotes`, for rows that were read already. */
export function votesOf(rows: readonly VoteRow[], activity: ActivityRecord): VoteRecord[] {
  const isSubmission = ({ id }: VoteRow) => Number(id === activity.id);
  return rows
    .toSorted((one, other) => isSubmission(other) - isSubmission(one) || oldestFirst(one, other))
    .map((row) => voteOfRow(row, activity));
}

/** Inserts of activities that are not stored yet. If another request stores one meanwhile, the transaction is retried. */
export const newActivities = laterInsert(
  "activities",
  {
    id: "text",
    organization_id: "text",
    type: "text",
    status: "text",
    fingerprint: "text",
    intent: "text",
    body: "text",
    plan: "text",
    result: "text",
    failure: "text",
    wants_proofs: "integer",
    created_at: "integer",
    updated_at: "integer",
  },
  { referredToBy: ["app_proofs", "authentications", "policy_evaluations", "votes"], mayBeTaken: true },
);

export function rowOfActivity(activity: ActivityRecord) {
  const { body, plan, result, failure } = activity;
  return {
    id: activity.id,
    organization_id: activity.organizationId,
    type: activity.type,
    status: activity.status as string,
    fingerprint: activity.fingerprint,
    intent: JSON.stringify(intentToStore(body, activity.intent)),
    body: body ?? null,
    plan: plan === undefined ? null : JSON.stringify(plan),
    result: Object.keys(result).length > 0 ? JSON.stringify(result) : null,
    failure: failure === null ? null : JSON.stringify(failure),
    wants_proofs: activity.wantsProofs ? 1 : 0,
    created_at: activity.createdAt,
    updated_at: activity.updatedAt,
  };
}

export const updateActivity = preparedWrite<ReturnType<typeof rowOfActivity>>()((db, row) =>
  db
    .updateTable("activities")
    .set({ status: row.status, result: row.result, failure: row.failure, updated_at: row.updated_at })
    .where("organization_id", "=", row.organization_id)
    .where("id", "=", row.id)
    .returning("id"),
);

/** A stamp as stored, whether it is a vote or shows a further credential. */
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

/** Inserts of the first votes of new activities. */
export const newVotes = laterInsert("votes", {
  id: "text",
  organization_id: "text",
  activity_id: "text",
  user_id: "text",
  user_name: "text",
  selection: "text",
  message: "text",
  public_key: "text",
  signature: "text",
  scheme: "text",
  assertion: "text",
  credential_id: "text",
  credential_type: "text",
  session_profile_id: "text",
  created_at: "integer",
});

type NewVote = NewStamp & { userName: string; selection: VoteRecord["selection"] };

export const rowOfVote = (vote: NewVote) => ({
  ...stampColumns(vote),
  user_name: vote.userName,
  selection: vote.selection,
});

/** A user has one vote per activity. Voting again, after the vote expired or was revoked, replaces it. */
export const upsertVote = preparedWrite<NewVote>()((db, vote) =>
  db
    .insertInto("votes")
    .values(rowOfVote(vote))
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
    ),
);

type StampsOfUser = Pick<NewStamp, "organizationId" | "activityId" | "userId" | "credentialId">;

/** Keeps the newest further stamps of a user on an activity, or the newest of those that show one credential. */
const deletionOfOld = (kept: number, ofCredential: boolean) =>
  preparedWrite<StampsOfUser>()((db, { organizationId, activityId, userId, credentialId }) =>
    db
      .deleteFrom("authentications")
      .where("organization_id", "=", organizationId)
      .where("activity_id", "=", activityId)
      .where("user_id", "=", userId)
      .$if(ofCredential, (some) => some.where("credential_id", "=", credentialId))
      .where("id", "not in", (row) =>
        row
          .selectFrom("authentications as newest")
          .select("newest.id")
          .where("newest.organization_id", "=", organizationId)
          .where("newest.activity_id", "=", activityId)
          .where("newest.user_id", "=", userId)
          .$if(ofCredential, (some) => some.where("newest.credential_id", "=", credentialId))
          .orderBy("newest.created_at", "desc")
          .orderBy("newest.id", "desc")
          .limit(kept),
      ),
  );

/** A bound is needed because clients can create any number of keys for tokens. */
export const deleteOldAttestedStamps = deletionOfOld(MAX_ATTESTATIONS, true);
/** A bound is needed because users can create and delete any number of credentials. */
export const deleteOldFurtherStamps = deletionOfOld(MAX_FURTHER_STAMPS, false);

/** A further stamp of a user who has voted already. Showing the same credential again renews its time. */
export const upsertFurtherStamp = preparedWrite<NewStamp>()((db, stamp) =>
  db
    .insertInto("authentications")
    .values(stampColumns(stamp))
    .onConflict((conflict) =>
      conflict
        .columns(["organization_id", "activity_id", "user_id", "public_key", "credential_id"])
        .doUpdateSet((set) => ({
          message: set.ref("excluded.message"),
          signature: set.ref("excluded.signature"),
          scheme: set.ref("excluded.scheme"),
          assertion: set.ref("excluded.assertion"),
          credential_type: set.ref("excluded.credential_type"),
          session_profile_id: set.ref("excluded.session_profile_id"),
          revoked_at: null,
          created_at: set.ref("excluded.created_at"),
        })),
    ),
);

/** Whether a vote counts: votes expire and can be revoked. Activities themselves do not expire. */
export const isLive = ({ createdAt, revokedAt }: Pick<VoteRecord, "createdAt" | "revokedAt">, now: number): boolean =>
  revokedAt === null && now - createdAt < VOTE_LIFETIME_MS;

/** Whether votes can still change its outcome. */
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

const voteOfRow = (row: VoteRow, activity: ActivityRecord): VoteRecord => ({
  ...furtherStampOf(row, activity),
  activityId: row.activity_id,
  userName: row.user_name,
  selection: row.selection,
});

/** The credential that a vote or a further stamp was made with. */
export const shownBy = ({ credential, publicKey }: Pick<VoteRecord, "credential" | "publicKey">): ShownCredential => ({
  ...credential,
  publicKey,
});

/** The credential that a stored stamp names. */
export const credentialOf = (
  row: Pick<VoteRow, "credential_id" | "credential_type" | "session_profile_id">,
): CredentialRef => ({
  id: row.credential_id ?? "",
  type: row.credential_type ?? "",
  ...(row.session_profile_id === null ? {} : { sessionProfileId: row.session_profile_id }),
});

export type FurtherStampRow = Awaited<ReturnType<typeof selectFurtherStamps>>[number];
type ActivityRef = { organizationId: string; activityId: string };

const furtherStampsOf = (db: Pick<Reader, "selectFrom">, { organizationId, activityId }: ActivityRef) =>
  db
    .selectFrom("authentications")
    .select(["id", "user_id", "public_key", "scheme", "message", "signature", "assertion", "created_at"])
    .select(["credential_id", "credential_type", "session_profile_id"])
    .where("organization_id", "=", organizationId)
    .where("activity_id", "=", activityId);
const selectFurtherStamps = prepared<ActivityRef>()((db, which) => furtherStampsOf(db, which).select("revoked_at"));
const selectOpenFurtherStamps = prepared<ActivityRef>()((db, which) =>
  furtherStampsOf(db, which).select(revokedAtOf("authentications").as("revoked_at")),
);

/** A stamp of a user in addition to their vote's, which shows a further credential. */
export type FurtherStamp = Omit<VoteRecord, "activityId" | "userName" | "selection">;

/** The further stamps on an activity, oldest first. */
export async function findFurtherStamps(read: Reader, activity: ActivityRecord): Promise<FurtherStamp[]> {
  const select = isOpen(activity) ? selectOpenFurtherStamps : selectFurtherStamps;
  const rows = await select(read, { organizationId: activity.organizationId, activityId: activity.id });
  return rows.sort(oldestFirst).map((row) => furtherStampOf(row, activity));
}

/** Like `findFurtherStamps`, for a row that was read already. Rows of votes have the same columns. */
export const furtherStampOf = (row: FurtherStampRow, { body }: Pick<ActivityRecord, "body">): FurtherStamp => ({
  id: row.id,
  userId: row.user_id,
  message: storedMessage(body, row.message),
  publicKey: row.public_key,
  signature: row.signature,
  scheme: row.scheme,
  assertion: row.assertion,
  credential: credentialOf(row),
  revokedAt: row.revoked_at,
  createdAt: row.created_at,
});
