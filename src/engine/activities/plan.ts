import type { ActivityOperation, Planning } from "../operations.ts";
import { servicesFor } from "../services.ts";
import { matches } from "../validate.ts";
import type { ActivityEngine, Ballot } from "./ballot.ts";
import { findActivityByFingerprint } from "./rows.ts";

/** The plan that an operation would make now; undefined if it makes none. It has no side effects. */
export async function makePlan(
  { database, services }: Pick<ActivityEngine, "database" | "services">,
  { path, plan, needs }: ActivityOperation,
  planning: Planning,
): Promise<unknown> {
  if (!plan) return undefined;
  const planned = await plan.make({ ...servicesFor(services, needs), ...planning, read: database.read });
  // It is stored as JSON, possibly for a later release to read, so it must match its schema.
  if (!matches(plan.schema, planned)) throw new Error(`the plan of ${path} is not of the shape that it declares`);
  return planned;
}

/**
 * The plan of an activity. A repeated body keeps the plan of its first submission, even if that was carried out while this plan was being
 * made and used up what the plan needs.
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
