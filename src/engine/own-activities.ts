import type { ActivityOperation, Registry } from "./operations.ts";

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
  const [version] = [...operation.versions.values()].filter((each) => type === undefined || each.type === type);
  if (!version) throw new Error(`${operation.path} has no version of the type ${type}`);
  const answer = await send({ type: version.type, timestampMs: String(now), organizationId, parameters });
  const { activity } = answer as { activity: { id: string; status: string; result: Record<string, unknown> } };
  const isCompleted = activity.status === "ACTIVITY_STATUS_COMPLETED";
  return {
    type: version.type,
    activityId: activity.id,
    result: isCompleted ? activity.result[version.resultKey] : undefined,
  };
}
