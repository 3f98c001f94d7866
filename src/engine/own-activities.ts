import { fingerprintOf } from "../crypto/fingerprint.ts";
import { EQUAL_ACTIVITIES_MS, MAX_EQUAL_ACTIVITIES } from "../kernel/limits.ts";
import type { Reader } from "../storage/engine.ts";
import { type ActivityRecord, findActivityByFingerprint } from "./activities/rows.ts";
import type { ActivityOperation, ActivityVersion, Registry } from "./operations.ts";

/** Activities that this server submits to itself, for a user whose stamp it can make; they pass the same checks as any request. */

/** The activity that is submitted there. `path` is what follows `/public/v1/submit/`. */
export function activityAt(registry: Registry, path: string): ActivityOperation {
  const operation = registry.byPath(`/public/v1/submit/${path}`);
  if (operation?.kind !== "activity") throw new Error(`there is no activity ${path}`);
  return operation;
}

interface OwnActivity {
  /** The newest unless said. */
  type?: string | undefined;
  organizationId: string;
  parameters: object;
  /** Milliseconds. */
  now: number;
}

interface OwnActivityOutcome {
  type: string;
  activityId: string;
  /** Undefined where it was not carried out at once, as policies or a root quorum have it wait for others. */
  result: unknown;
}

/** A body of an activity, which is stamped and sent as it is. */
export type OwnBody = { type: string; timestampMs: string; organizationId: string; parameters: object };

/** @throws KeysteadError as the activity fails */
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

/** An activity that is asked for again by whoever did not hear the answer. */
export interface RepeatedActivity<Result> extends Omit<OwnActivity, "parameters"> {
  /** Equal for equal requests of one time, in milliseconds. */
  parametersAt: (time: number) => object;
  /** Whether what was made is gone again, so that whoever asks means another one. */
  isOver: (result: Result) => Promise<boolean>;
}

/**
 * The time under which to submit it, so that equal requests of a few minutes have equal bodies and so are one activity, on every server:
 * the time at which those minutes began. What was refused or is gone again is passed over, and each further one is a millisecond younger.
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
  const before = await firstFrom(began - EQUAL_ACTIVITIES_MS);
  return before.isKnown ? before.time : (await firstFrom(began)).time;
}
