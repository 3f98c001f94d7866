import { fingerprintOf } from "../crypto/fingerprint.ts";
import { EQUAL_ACTIVITIES_MS, MAX_EQUAL_ACTIVITIES } from "../kernel/limits.ts";
import type { Reader } from "../storage/engine.ts";
import { type ActivityRecord, findActivityByFingerprint } from "./activities/rows.ts";
import type { ActivityOperation, ActivityVersion, Registry } from "./operations.ts";
import { findRestoredSince } from "./restored.ts";

/** Activities that the server submits to itself, for a user whose requests it can stamp. They pass the same checks as any request. */

/** The activity of a path. `path` is the part after `/public/v1/submit/`. */
export function activityAt(registry: Registry, path: string): ActivityOperation {
  const operation = registry.byPath(`/public/v1/submit/${path}`);
  if (operation?.kind !== "activity") throw new Error(`there is no activity ${path}`);
  return operation;
}

interface OwnActivity {
  /** Default: the newest. */
  type?: string | undefined;
  organizationId: string;
  parameters: object;
  /** Milliseconds. */
  now: number;
}

interface OwnActivityOutcome {
  type: string;
  activityId: string;
  /** Undefined if the activity was not carried out yet because it needs the consensus of others. */
  result: unknown;
}

/** The body of an activity, stamped and sent unchanged. */
export type OwnBody = { type: string; timestampMs: string; organizationId: string; parameters: object };

/** @throws KeysteadError if the activity fails */
export async function submitOwn(
  operation: ActivityOperation,
  { type, organizationId, parameters, now }: OwnActivity,
  send: (body: OwnBody) => Promise<Record<string, unknown>>,
): Promise<OwnActivityOutcome> {
  const version = versionOf(operation, type);
  const answer = await send(bodyOf(version, { organizationId, parameters, now }));
  const { activity } = answer as { activity: { id: string; status: string; result: Record<string, unknown> } };
  const isCompleted = activity.status === "ACTIVITY_STATUS_COMPLETED";
  return {
    type: version.type,
    activityId: activity.id,
    result: isCompleted ? activity.result[version.resultKey] : undefined,
  };
}

const bodyOf = ({ type }: ActivityVersion, { organizationId, parameters, now }: OwnActivity): OwnBody => ({
  type,
  timestampMs: String(now),
  organizationId,
  parameters,
});

function versionOf({ path, versions }: ActivityOperation, type: string | undefined): ActivityVersion {
  const version = [...versions.values()].find((each) => type === undefined || each.type === type);
  if (!version) throw new Error(`${path} has no version of the type ${type}`);
  return version;
}

/** An activity that a client may request again because it missed the answer. */
export interface RepeatedActivity<Result> extends Omit<OwnActivity, "parameters"> {
  /** The parameters for a time in milliseconds. Equal requests have equal parameters for the same time. */
  parametersAt: (time: number) => object;
  /** Whether what the activity created no longer exists, so that the request means a new one. */
  isOver: (result: Result) => Promise<boolean>;
}

/**
 * The time to put into the body. Equal requests within a few minutes get the same time, the start of that interval, so that their bodies
 * are equal and they are the same activity on every server. If that activity was refused, or what it created is gone, the time is a
 * millisecond later, and so on.
 */
export async function timeOfRepeated<Result>(
  read: Reader,
  operation: ActivityOperation,
  { type, organizationId, parametersAt, isOver, now }: RepeatedActivity<Result>,
): Promise<number> {
  const version = versionOf(operation, type);
  const find = (time: number) => {
    const body = bodyOf(version, { organizationId, parameters: parametersAt(time), now: time });
    return findActivityByFingerprint(read, organizationId, fingerprintOf(JSON.stringify(body)));
  };
  const isPast = async ({ status, result }: ActivityRecord) =>
    status === "ACTIVITY_STATUS_FAILED" ||
    status === "ACTIVITY_STATUS_REJECTED" ||
    (status === "ACTIVITY_STATUS_COMPLETED" && (await isOver(result[version.resultKey] as Result)));
  const firstFrom = async (start: number) => {
    for (let time = start; time < start + MAX_EQUAL_ACTIVITIES; time++) {
      const known = await find(time);
      if (!known || !(await isPast(known))) return { time, isKnown: known !== undefined };
    }
    return { time: now, isKnown: false };
  };
  const began = now - (now % EQUAL_ACTIVITIES_MS);
  // Nothing from before a restore is accepted.
  const earliest = (await findRestoredSince(read)) ?? 0;
  const before = await firstFrom(Math.max(began - EQUAL_ACTIVITIES_MS, earliest));
  return before.isKnown ? before.time : (await firstFrom(Math.max(began, earliest))).time;
}
