import type { QuotaName } from "../../authority/quotas.ts";
import type { RootQuorum } from "../../authority/state.ts";
import { fingerprintOf } from "../../crypto/fingerprint.ts";
import { newId } from "../../kernel/ids.ts";
import type { Transactor } from "../../storage/engine.ts";
import { type ActivityRecord, newActivities, rowOfActivity } from "./rows.ts";

/** Activities that no request makes and nobody votes on: an operator did them on the server's machine. */
interface OperatorActivities {
  ACTIVITY_TYPE_RECOVER_ROOT_QUORUM: { intent: RecoveryIntent; result: RecoveryResult };
  ACTIVITY_TYPE_SET_ORGANIZATION_QUOTA: { intent: QuotaIntent; result: QuotaResult };
  ACTIVITY_TYPE_REMOVE_IP_ALLOWLISTS: { intent: ByOperator; result: RemovedAllowlists };
}
type OperatorActivityType = keyof OperatorActivities;

/** By type, what its intent and its result are called. */
const keys: Readonly<Record<OperatorActivityType, string>> = {
  ACTIVITY_TYPE_RECOVER_ROOT_QUORUM: "recoverRootQuorum",
  ACTIVITY_TYPE_SET_ORGANIZATION_QUOTA: "setOrganizationQuota",
  ACTIVITY_TYPE_REMOVE_IP_ALLOWLISTS: "removeIpAllowlists",
};

export const operatorActivityTypes = Object.keys(keys) as OperatorActivityType[];

export const isOperatorActivity = (type: string): boolean => Object.hasOwn(keys, type);

/** Who ran the command, as the system of that machine says. */
export interface Operator {
  user: string;
  host: string;
}

export interface ByOperator {
  reason?: string;
  operator: Operator;
}

export interface RecoveryIntent extends ByOperator {
  userName: string;
  apiPublicKey: string;
}

export interface RecoveryResult {
  userId: string;
  rootQuorum: RootQuorum;
  previousRootQuorum: RootQuorum;
}

export interface QuotaIntent extends ByOperator {
  quota: QuotaName;
  /** Null for any number; `default` for that of the installation. */
  figure: number | null | "default";
}

export interface QuotaResult {
  /** What holds from now on, and what held before; null is any number. */
  figure: number | null;
  previousFigure: number | null;
}

export interface RemovedAllowlists {
  /** As `get_ip_allowlist` showed them: of the API key that is named, or of the organization. */
  removed: readonly { publicKey?: string; rules: readonly { cidr: string }[] }[];
}

/** Stores what an operator does as it is carried out, where everything else stands that was done in the organization. */
export async function recordOperatorActivity<Type extends OperatorActivityType>(
  tx: Transactor,
  organizationId: string,
  type: Type,
  { intent, result, now }: OperatorActivities[Type] & { now: number },
): Promise<ActivityRecord> {
  const id = newId();
  const statement = { type, timestampMs: String(now), organizationId, activityId: id, parameters: intent };
  const key = keys[type];
  const activity: ActivityRecord = {
    id,
    organizationId,
    type,
    status: "ACTIVITY_STATUS_COMPLETED",
    fingerprint: fingerprintOf(JSON.stringify(statement)),
    intent: { [`${key}Intent`]: intent },
    result: { [`${key}Result`]: result },
    failure: null,
    wantsProofs: false,
    createdAt: now,
    updatedAt: now,
  };
  await tx.later(newActivities, rowOfActivity(activity));
  return activity;
}

/** The operator who did it; undefined for an activity that requests make. */
export function operatorOf({ type, intent }: ActivityRecord): Operator | undefined {
  const key = Object.hasOwn(keys, type) ? keys[type as OperatorActivityType] : undefined;
  return key === undefined ? undefined : (intent[`${key}Intent`] as ByOperator).operator;
}
