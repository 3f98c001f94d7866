import type { IpAllowlist } from "../../capabilities/ip-allowlists/model.ts";
import { removeAllAllowlists } from "../../capabilities/ip-allowlists/store.ts";
import { recordOperatorActivity } from "../../engine/activities/operator-activities.ts";
import type { Database } from "../../storage/database.ts";
import { type OperatorContext, requireLabel, requireOrganization, tellOf, thisOperator } from "./operator.ts";

/**
 * Removes the IP allowlists of an organization and of its API keys, and records that as one of its activities, in one transaction. If there
 * are none, nothing is recorded.
 *
 * @throws StartProblem
 */
export async function removeAllowlists(
  database: Database,
  { organizationId, reason }: { organizationId: string; reason: string | undefined },
  { audit, clock }: OperatorContext,
): Promise<{ removed: IpAllowlist[]; activityId?: string }> {
  requireLabel("--reason", reason);
  return database.transact(organizationId, async (tx) => {
    const organization = await requireOrganization(tx, organizationId);
    const removed = await removeAllAllowlists(tx, organizationId);
    if (removed.length === 0) return { removed };
    const now = clock();
    const intent = { ...(reason === undefined ? {} : { reason }), operator: thisOperator() };
    const type = "ACTIVITY_TYPE_REMOVE_IP_ALLOWLISTS";
    const activity = await recordOperatorActivity(tx, organizationId, type, { intent, result: { removed }, now });
    await tellOf(tx, audit, { activity, votes: [], organization, now });
    return { removed, activityId: activity.id };
  });
}
