import type { ActivityOperation, Planning } from "../operations.ts";
import { servicesFor } from "../services.ts";
import { matches } from "../validate.ts";
import type { ActivityEngine, Ballot } from "./ballot.ts";
import { findActivityByFingerprint } from "./rows.ts";

/** What an operation would do outside if it were asked now; undefined where there is nothing to plan. It leaves no trace. */
export async function makePlan(
  { database, services }: Pick<ActivityEngine, "database" | "services">,
  { path, plan, needs }: ActivityOperation,
  planning: Planning,
): Promise<unknown> {
  if (!plan) return undefined;
  const planned = await plan.make({ ...servicesFor(services, needs), ...planning, read: database.read });
  // It is stored as JSON and read back by a later release perhaps: what does not fit its schema must not get there.
  if (!matches(plan.schema, planned)) throw new Error(`the plan of ${path} is not of the shape that it declares`);
  return planned;
}

/**
 * The plan of a new activity; a body that repeats one keeps the plan that it was submitted with, also where that one was carried
 * out while this plan was made, and has used up what it needs.
 */
export async function planOf(
  engine: ActivityEngine,
  operation: ActivityOperation,
  intent: unknown,
  fingerprint: string,
  { principal: { organization, actor }, now }: Pick<Ballot, "principal" | "now">,
): Promise<unknown> {
  if (!operation.plan) return undefined;
  const find = () => findActivityByFingerprint(engine.database.read, organization.id, fingerprint);
  if (await find()) return undefined;
  try {
    return await makePlan(engine, operation, { intent, organization, submitterId: actor.userId, now });
  } catch (error) {
    if (await find()) return undefined;
    throw error;
  }
}
