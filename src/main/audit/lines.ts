import type { ActivityChange, Ballot } from "../../engine/activities/ballot.ts";
import { type Operator, operatorOf } from "../../engine/activities/operator-activities.ts";
import type { ActivityStatus } from "../../engine/activities/rows.ts";
import type { RefusedAuthentication } from "../../engine/request-audit.ts";
import { newIdAt } from "../../kernel/ids.ts";
import { MAX_AUDIT_KEY_LENGTH } from "../../kernel/limits.ts";

/**
 * The contents of the audit stream's lines: identifiers, public keys, outcomes and addresses. They contain no part of a body and no text that a
 * client wrote, and therefore no secrets and no codes.
 */

export const auditEvents = [
  "activity",
  "authentication_refused",
  "authentications_left_out",
  "activities_dropped",
  "root_key_rotated",
  "restored",
] as const;
export type AuditEvent = (typeof auditEvents)[number];

const outcomes: Record<ActivityStatus, string> = {
  ACTIVITY_STATUS_CREATED: "pending",
  ACTIVITY_STATUS_PENDING: "pending",
  ACTIVITY_STATUS_COMPLETED: "completed",
  ACTIVITY_STATUS_FAILED: "failed",
  ACTIVITY_STATUS_CONSENSUS_NEEDED: "consensus_needed",
  ACTIVITY_STATUS_AUTHENTICATORS_NEEDED: "authenticators_needed",
  ACTIVITY_STATUS_REJECTED: "rejected",
};

/** The line about an activity's new status and who caused it. */
export function lineOfChange(change: ActivityChange): string {
  const { activity, organization, ballot, now } = change;
  const { id, type, status, fingerprint, failure } = activity;
  return line("activity", now, {
    // A denied activity is stored as rejected, with a failure.
    outcome: status === "ACTIVITY_STATUS_REJECTED" && failure ? "denied" : outcomes[status],
    organizationId: activity.organizationId,
    parentOrganizationId: organization.parentId ?? undefined,
    activity: { id, type, status, fingerprint },
    failureCode: failure?.code,
    ...(ballot ? whoCast(ballot) : whoSubmitted(change)),
  });
}

function whoCast({ principal, selection, remoteAddress }: NonNullable<ActivityChange["ballot"]>) {
  const { actor, stampRecord } = principal;
  return {
    by: {
      organizationId: actor.organizationId,
      userId: actor.userId,
      ...credentialOf({ ...stampRecord, credential: actor.credential }),
    },
    vote: selection === "VOTE_SELECTION_APPROVED" ? "approved" : "rejected",
    clientAddress: remoteAddress,
  };
}

/** For a change without a request: the user who submitted the activity, or the operator who made the change. */
function whoSubmitted({ activity, votes }: ActivityChange) {
  const operator = operatorOf(activity);
  if (operator) return { by: { operator } };
  const submission = votes.find(({ id }) => id === activity.id) ?? votes[0];
  if (!submission) return {};
  return { by: { userId: submission.userId, ...credentialOf(submission) } };
}

type Stamped = Ballot["principal"]["stampRecord"] & Pick<Ballot["principal"]["actor"], "credential">;

const credentialOf = ({ publicKey, scheme, credential }: Pick<Stamped, "publicKey" | "scheme" | "credential">) => ({
  credentialId: credential.id,
  credentialType: credential.type,
  stamp: scheme,
  publicKey: publicKey.slice(0, MAX_AUDIT_KEY_LENGTH),
});

/** @param now in milliseconds, as in the functions below */
export function lineOfRefusal(refusal: RefusedAuthentication, now: number): string {
  const { reason, operation, organizationId, remoteAddress: clientAddress } = refusal;
  return line("authentication_refused", now, { reason, operation, organizationId: organizationId(), clientAddress });
}

/** From now on, another root key seals the keys of all organizations. */
export interface RootKeyRotation {
  rootKeyId: string;
  previousRootKeyId: string;
  operator: Operator;
}

export function lineOfRotation({ operator, ...rootKeys }: RootKeyRotation, now: number): string {
  return line("root_key_rotated", now, { ...rootKeys, by: { operator } });
}

/** The first server has started on a restored backup. */
export const lineOfRestore = (now: number): string => line("restored", now, {});

/** Dropped lines. */
export interface LeftOut {
  count: number;
  /** The times of the first and the last, in milliseconds. */
  from: number;
  to: number;
}

export function lineOfLeftOut(event: AuditEvent, { count, from, to }: LeftOut): string {
  return line(event, to, { count, from: textOf(from), to: textOf(to) });
}

/** Members that are undefined are omitted. */
const line = (event: AuditEvent, now: number, members: object): string =>
  JSON.stringify({ id: newIdAt(now), time: textOf(now), event, ...members });

const textOf = (milliseconds: number): string => new Date(milliseconds).toISOString();
