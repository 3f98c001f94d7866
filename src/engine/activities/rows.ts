import type { CredentialRef, ShownCredential } from "../../authority/parties.ts";
import type { ErrorDetail, KeysteadError } from "../../kernel/errors.ts";
import { MAX_ATTESTATIONS, MAX_FURTHER_STAMPS, VOTE_LIFETIME_MS } from "../../kernel/limits.ts";
import type { Reader, StoredRow } from "../../storage/engine.ts";
import { laterInsert, prepared, preparedWrite, uniqueRow } from "../../storage/prepared.ts";
import { revokedAtOf } from "../identity/revocations.ts";
import { oldestFirst } from "../paging.ts";
import { intentToStore, storedIntent, storedMessage } from "./bodies.ts";

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

export type ActivityRow = Awaited<ReturnType<typeof selectById>>[number];
export type VoteRow = Awaited<ReturnType<typeof selectVotes>>[number];

const selectById = prepared<{ organizationId: string; id: string }>()((db, { organizationId, id }) =>
  db.selectFrom("activities").selectAll().where("organization_id", "=", organizationId).where("id", "=", id),
);
const findByFingerprint = uniqueRow("activities", { organizationId: "organization_id", fingerprint: "fingerprint" });
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
/** Of an open activity: what was deleted since takes votes back as long as nothing is decided. */
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
 * The votes on an activity, the submission first: it alone has the activity's own id, so that the clocks of several servers
 * cannot take another vote for it.
 */
export async function findVotes(read: Reader, activity: ActivityRecord): Promise<VoteRecord[]> {
  const select = isOpen(activity) ? selectOpenVotes : selectVotes;
  const rows = await select(read, { organizationId: activity.organizationId, activityId: activity.id });
  return votesOf(rows, activity);
}

/** The same of rows that were read elsewhere. */
export function votesOf(rows: readonly VoteRow[], activity: ActivityRecord): VoteRecord[] {
  const isSubmission = ({ id }: VoteRow) => Number(id === activity.id);
  return rows
    .toSorted((one, other) => isSubmission(other) - isSubmission(one) || oldestFirst(one, other))
    .map((row) => voteOfRow(row, activity));
}

/** Of activities that nobody has stored yet; where somebody has meanwhile, the transaction is tried again. */
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

/** The first votes of activities that are new themselves. */
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

/** A user has one vote on an activity; voting again, after a vote has lapsed or was taken back, replaces it. */
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

/** Keeps the newest further stamps of a user on an activity, or of those that show one credential. */
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

/** Keys that tokens are bound to are made at will. */
export const deleteOldAttestedStamps = deletionOfOld(MAX_ATTESTATIONS, true);
/** So are credentials, which can be deleted again. */
export const deleteOldFurtherStamps = deletionOfOld(MAX_FURTHER_STAMPS, false);

/** A further stamp of a user who has voted already; the same credential again only renews its time. */
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

/** Approvals and rejections lapse, and are taken back; the activity itself never lapses. */
export const isLive = ({ createdAt, revokedAt }: Pick<VoteRecord, "createdAt" | "revokedAt">, now: number): boolean =>
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

/** A stamp of a user beyond the one of their vote: it shows a further credential. */
export type FurtherStamp = Omit<VoteRecord, "activityId" | "userName" | "selection">;

/** Stamps on an activity beyond those of its votes, the oldest first. */
export async function findFurtherStamps(read: Reader, activity: ActivityRecord): Promise<FurtherStamp[]> {
  const select = isOpen(activity) ? selectOpenFurtherStamps : selectFurtherStamps;
  const rows = await select(read, { organizationId: activity.organizationId, activityId: activity.id });
  return rows.sort(oldestFirst).map((row) => furtherStampOf(row, activity));
}

/** The same of a row that was read elsewhere; a vote's has what a further stamp's has. */
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
