import { fingerprintOf } from "../crypto/fingerprint.ts";
import { EQUAL_ACTIVITIES_MS, MAX_EQUAL_ACTIVITIES } from "../kernel/limits.ts";
import type { Reader } from "../storage/engine.ts";
import { findActivityByFingerprint } from "./activities/rows.ts";
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
  return version ?? fail(`${path} has no version of the type ${type}`);
}

const fail = (message: string): never => {
  throw new Error(message);
};

/** An activity that may be asked for again by somebody who did not hear the answer. */
export interface RepeatedActivity<Result> extends Omit<OwnActivity, "parameters"> {
  /** Equal for equal requests of one time, in milliseconds. */
  parametersAt: (time: number) => object;
  /** Whether what was made is gone again, so that who asks means another one. */
  isOver: (result: Result) => Promise<boolean>;
}

/**
 * The time under which to submit it, so that equal requests of a short while have equal bodies and so are one activity, on every server: the time at which
 * that while began. What was refused or is gone is left behind: each further one is a millisecond younger.
 */
export async function timeOfRepeated<Result>(
  read: Reader,
  operation: ActivityOperation,
  { type, organizationId, parametersAt, isOver, now }: RepeatedActivity<Result>,
): Promise<number> {
  const version = versionOf(operation, type);
  const stateAt = async (time: number): Promise<"unknown" | "stands" | "over"> => {
    const body = JSON.stringify(bodyOf(version, { organizationId, parameters: parametersAt(time), now: time }));
    const known = await findActivityByFingerprint(read, organizationId, fingerprintOf(body));
    if (!known) return "unknown";
    const { status, result } = known;
    if (status === "ACTIVITY_STATUS_FAILED" || status === "ACTIVITY_STATUS_REJECTED") return "over";
    const isMade = status === "ACTIVITY_STATUS_COMPLETED";
    return isMade && (await isOver(result[version.resultKey] as Result)) ? "over" : "stands";
  };
  const began = now - (now % EQUAL_ACTIVITIES_MS);
  for (const start of [began - EQUAL_ACTIVITIES_MS, began]) {
    for (let time = start; time < start + MAX_EQUAL_ACTIVITIES; time++) {
      const state = await stateAt(time);
      if (state === "stands" || (state === "unknown" && start === began)) return time;
      if (state === "unknown") break;
    }
  }
  return now;
}
