import { type Static, Type } from "typebox";
import { backOffMs } from "../../kernel/back-off.ts";
import { KeysteadError } from "../../kernel/errors.ts";
import type { Transactor } from "../../storage/engine.ts";
import { findOrganization } from "../identity/organizations.ts";
import { enqueue, JOB_BACK_OFF, type JobContext, type JobKind, type JobResult, job } from "../jobs/jobs.ts";
import type { ActivityOperation, Effect, Organization, Performed } from "../operations.ts";
import { servicesFor } from "../services.ts";
import type { ActivityEngine } from "./ballot.ts";
import { completeActivity } from "./complete.ts";
import { type ActivityRecord, failureOf, findActivity } from "./rows.ts";

/** The outside effects of activities. Each is a job, from the commit of the decision to the commit of the outcome. */

const KIND = "perform_activity";
/** Attempts of all kinds, including those that a chain refused. If a later attempt throws, the job waits for an operator. */
const MAX_ATTEMPTS = 20;
/** How long an organization's effects pause when their gate is unavailable. */
const AWAY_PAUSE_MS = 5000;

/** `noted` belongs to the effect, which passes it from one attempt to the next. */
const Payload = Type.Object({
  organizationId: Type.String(),
  activityId: Type.String(),
  noted: Type.Optional(Type.Unknown()),
});
type Context = JobContext<Static<typeof Payload>>;

/** Queues the effect of an activity that is being stored as PENDING. */
export function enqueueEffect(
  tx: Transactor,
  effect: Effect,
  { id: activityId, organizationId, plan }: ActivityRecord,
  now: number,
): Promise<void> {
  // The prefix keeps it apart from the gates of webhooks, which are hosts.
  const gate = `effect:${effect.gate(plan)}`;
  return enqueue(tx, {
    kind: KIND,
    payload: { organizationId, activityId },
    lane: `${gate}:${organizationId}`,
    gate,
    organizationId,
    runAt: now,
    now,
    key: `activity:${activityId}`,
  });
}

/** The job kind. It can be restarted at any point: an activity that has ended is not changed. */
export const performActivity = (
  engine: Omit<ActivityEngine, "admission" | "database" | "monthlyQuota" | "signer">,
): JobKind =>
  job({
    name: KIND,
    payload: Payload,
    maxAttempts: MAX_ATTEMPTS,
    concurrent: true,
    async run(context) {
      const { organizationId, activityId } = context.payload;
      const { read } = context.database;
      const activity = await findActivity(read, organizationId, activityId);
      const organization = await findOrganization(read, organizationId);
      if (activity?.status !== "ACTIVITY_STATUS_PENDING" || !organization) return { next: { do: "finish" } };
      const { operation, version } = engine.registry.activityOfType(activity.type);
      const intent = version.upgrade(activity.intent[version.intentKey]);
      const performed = await tryToPerform(engine, operation, { context, activity, organization, intent });
      return resultOf(engine, context, activity, organization, performed);
    },
  });

/** The outcome of an attempt, or the catalogue error that ended it and decides what becomes of the activity. */
type PerformedOrFailed = Performed | { error: KeysteadError };

async function tryToPerform(
  { services }: Pick<ActivityEngine, "services">,
  { effect, needs, path }: ActivityOperation,
  {
    context: { database, attempts, clock, payload, keep },
    activity: { id: activityId, plan },
    organization,
    intent,
  }: { context: Context; activity: ActivityRecord; organization: Organization; intent: unknown },
): Promise<PerformedOrFailed> {
  if (!effect) throw new Error(`${path} is pending and has no effect to perform`);
  const given = servicesFor(services, needs);
  try {
    const { read } = database;
    const { noted } = payload;
    const note = (what: object | undefined) => keep({ ...payload, noted: what });
    const tried = { activityId, attempts, noted, note, now: clock() };
    return await effect.perform({ ...given, intent, plan, read, organization, ...tried });
  } catch (error) {
    if (error instanceof KeysteadError) return { error };
    throw error;
  }
}

/** The job's result. If the activity ends with it, both are stored in one transaction. */
function resultOf(
  engine: Pick<ActivityEngine, "registry" | "observer">,
  { clock, attempts, log }: Context,
  activity: ActivityRecord,
  organization: Organization,
  outcome: PerformedOrFailed,
): JobResult {
  if ("retryInMs" in outcome) {
    const inMs = Math.max(outcome.retryInMs, backOffMs(JOB_BACK_OFF, Math.min(attempts, 5)));
    return { next: { do: "retry", inMs }, reason: outcome.reason };
  }
  if ("error" in outcome && outcome.error.httpStatus >= 500) {
    const { id: activityId, organizationId } = activity;
    log.warn(
      { organizationId, activityId, reason: outcome.error.message },
      "an activity is waiting for something that is unavailable",
    );
    return { next: { do: "pause", inMs: AWAY_PAUSE_MS } };
  }
  const end = "error" in outcome ? { failure: failureOf(outcome.error) } : { result: outcome.done };
  return {
    next: { do: "finish" },
    record: (tx) => completeActivity(tx, engine, activity, { organization, outcome: end, now: clock() }),
  };
}
