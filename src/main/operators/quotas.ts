import { type QuotaName, quotaKinds, quotaNames } from "../../authority/quotas.ts";
import {
  type QuotaIntent,
  type QuotaResult,
  recordOperatorActivity,
} from "../../engine/activities/operator-activities.ts";
import { findQuotas, storeQuota } from "../../engine/authority/stored-quotas.ts";
import type { Database } from "../../storage/database.ts";
import { StartProblem } from "../config.ts";
import { type OperatorContext, requireLabel, requireOrganization, tellOf, thisOperator } from "./operator.ts";

export interface QuotaChange {
  organizationId: string;
  quota: QuotaName;
  figure: QuotaIntent["figure"];
  reason: string | undefined;
}

/** The change, and the activity that records it. */
export interface ChangedQuota extends QuotaResult {
  organizationId: string;
  quota: QuotaName;
  activityId: string;
}

/** @throws StartProblem if there is no such quota, or the figure is invalid for it */
export function readQuotaChange(quota: string, figure: string): Pick<QuotaChange, "quota" | "figure"> {
  const name = quotaNames.find((each) => each === quota);
  if (name === undefined)
    throw new StartProblem(`there is no quota ${quota}; the known ones are ${quotaNames.join(", ")}`);
  const { usual, highest } = quotaKinds[name];
  if (figure === "default") return { quota: name, figure };
  if (figure === "unlimited" && usual === null) return { quota: name, figure: null };
  if (/^[0-9]{1,12}$/.test(figure) && Number(figure) <= highest) return { quota: name, figure: Number(figure) };
  const words = usual === null ? "default, or unlimited" : "or default";
  throw new StartProblem(`${name} must be a number from 0 to ${highest}, ${words}`);
}

/**
 * Sets a quota of an organization and records that as one of its activities, in one transaction. If the organization already has more than a
 * lower quota allows, it keeps that but cannot add more.
 *
 * @throws StartProblem
 */
export async function setQuota(
  database: Database,
  change: QuotaChange,
  { audit, clock }: OperatorContext,
): Promise<ChangedQuota> {
  const { organizationId, quota, figure, reason } = change;
  requireLabel("--reason", reason);
  return database.transact(organizationId, async (tx) => {
    const organization = await requireOrganization(tx, organizationId);
    const now = clock();
    const before = await findQuotas(tx, organizationId);
    await storeQuota(tx, organizationId, quota, figure === "default" ? undefined : figure, now);
    const after = await findQuotas(tx, organizationId);
    const result: QuotaResult = { figure: after[quota], previousFigure: before[quota] };
    const intent: QuotaIntent = {
      quota,
      figure,
      ...(reason === undefined ? {} : { reason }),
      operator: thisOperator(),
    };
    const type = "ACTIVITY_TYPE_SET_ORGANIZATION_QUOTA";
    const activity = await recordOperatorActivity(tx, organizationId, type, { intent, result, now });
    await tellOf(tx, audit, { activity, votes: [], organization, now });
    return { organizationId, quota, ...result, activityId: activity.id };
  });
}
