import type { ActivityOperation } from "../operations.ts";
import { servicesFor } from "../services.ts";
import { matches } from "../validate.ts";
import type { ActivityEngine, Ballot } from "./ballot.ts";
import { findActivityByFingerprint } from "./records.ts";

/**
 * What a new activity plans to do outside; undefined where there is nothing to plan, or where the body repeats an activity,
 * which keeps the plan that it was submitted with. Planning reads and leaves no trace.
 */
export async function planOf(
  { database, services }: ActivityEngine,
  { path, plan, needs }: ActivityOperation,
  intent: unknown,
  fingerprint: string,
  { principal: { organization, actor }, now }: Pick<Ballot, "principal" | "now">,
): Promise<unknown> {
  if (!plan) return undefined;
  const { read } = database;
  if (await findActivityByFingerprint(read, organization.id, fingerprint)) return undefined;
  const given = servicesFor(services, needs);
  const planned = await plan.make({ ...given, intent, read, organization, submitterId: actor.userId, now });
  // It is stored as JSON and read back by a later release perhaps: what does not fit its schema must not get there.
  if (!matches(plan.schema, planned)) throw new Error(`the plan of ${path} is not of the shape that it declares`);
  return planned;
}
