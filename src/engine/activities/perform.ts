import { Type } from "typebox";
import { KeysteadError } from "../../kernel/errors.ts";
import type { Reader, Transactor } from "../../storage/engine.ts";
import { prepared } from "../../storage/prepared.ts";
import { backOffMs, enqueue, type JobContext, type JobKind, type JobResult, job } from "../jobs/jobs.ts";
import type { ActivityOperation, Effect, Organization, Performed } from "../operations.ts";
import { servicesFor } from "../services.ts";
import type { ActivityEngine } from "./ballot.ts";
import { completeActivity } from "./complete.ts";
import { type ActivityRecord, failureOf, findActivity } from "./records.ts";

/** The outside effects of activities: a job each, from the commit that decided on it to the one that stores its end. */

const KIND = "perform_activity";
/** A try that throws is a fault of ours or of what it needs; after so many it waits for an operator. */
const MAX_ATTEMPTS = 20;

const Payload = Type.Object({ organizationId: Type.String(), activityId: Type.String() });
type Context = JobContext<{ organizationId: string; activityId: string }>;

/** Queues the effect of an activity that is being stored as PENDING. */
export function enqueueEffect(
  tx: Transactor,
  effect: Effect,
  { id: activityId, organizationId, plan }: ActivityRecord,
  now: number,
): Promise<void> {
  return enqueue(tx, {
    kind: KIND,
    payload: { organizationId, activityId },
    lane: `activity:${activityId}`,
    gate: effect.gate(plan),
    organizationId,
    runAt: now,
    now,
    key: `activity:${activityId}`,
  });
}

/** The job kind. It may be started again at any point: an activity that has ended is left as it is. */
export const performActivity = (engine: Omit<ActivityEngine, "admission" | "database" | "signer">): JobKind =>
  job({
    name: KIND,
    payload: Payload,
    maxAttempts: MAX_ATTEMPTS,
    unordered: true,
    async run(context) {
      const { organizationId, activityId } = context.payload;
      const { read } = context.database;
      const activity = await findActivity(read, organizationId, activityId);
      const organization = await findOrganization(read, organizationId);
      if (activity?.status !== "ACTIVITY_STATUS_PENDING" || !organization) return { next: { do: "finish" } };
      const { operation, version } = engine.registry.activityOfType(activity.type);
      const intent = version.upgrade(activity.intent[version.intentKey]);
      const performed = await tryToPerform(engine, operation, { context, activity, organization, intent });
      return endOf(engine, context, activity, organization, performed);
    },
  });

async function tryToPerform(
  { services }: Pick<ActivityEngine, "services">,
  { effect, needs, path }: ActivityOperation,
  {
    context: { database, attempts, clock },
    activity: { id: activityId, plan },
    organization,
    intent,
  }: { context: Context; activity: ActivityRecord; organization: Organization; intent: unknown },
): Promise<Performed | { refused: KeysteadError }> {
  if (!effect) throw new Error(`${path} is pending and has no effect to perform`);
  const given = servicesFor(services, needs);
  try {
    const { read } = database;
    return await effect.perform({ ...given, intent, plan, read, organization, activityId, attempts, now: clock() });
  } catch (error) {
    if (error instanceof KeysteadError && error.httpStatus < 500) return { refused: error };
    throw error;
  }
}

/** The job's end and the activity's in one transaction. */
function endOf(
  engine: Pick<ActivityEngine, "registry" | "observer">,
  { clock, attempts }: Context,
  activity: ActivityRecord,
  organization: Organization,
  performed: Performed | { refused: KeysteadError },
): JobResult {
  if ("retryInMs" in performed) {
    const inMs = Math.max(performed.retryInMs, backOffMs(Math.min(attempts, 5)));
    return { next: { do: "retry", inMs }, reason: performed.reason };
  }
  const outcome =
    "done" in performed
      ? { result: performed.done }
      : {
          failure: failureOf(
            "refused" in performed
              ? performed.refused
              : new KeysteadError("EFFECT_FAILED", { reason: performed.failed.reason }, []),
          ),
        };
  return {
    next: { do: "finish" },
    record: (tx) => completeActivity(tx, engine, activity, organization, outcome, clock()),
  };
}

const selectOrganization = prepared<{ id: string }>()((db, { id }) =>
  db.selectFrom("organizations").selectAll().where("id", "=", id),
);

async function findOrganization(read: Reader, id: string): Promise<Organization | undefined> {
  const [row] = await selectOrganization(read, { id });
  return (
    row && {
      id: row.id,
      parentId: row.parent_id,
      name: row.name,
      sealedKey: row.sealed_key,
      quorumThreshold: row.quorum_threshold,
      policiesVersion: row.policies_version,
    }
  );
}
