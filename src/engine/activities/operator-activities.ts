import type { QuotaName } from "../../authority/quotas.ts";
import type { RootQuorum } from "../../authority/state.ts";
import { fingerprintOf } from "../../crypto/fingerprint.ts";
import { newId } from "../../kernel/ids.ts";
import type { Transactor } from "../../storage/engine.ts";
import { type ActivityRecord, newActivities, rowOfActivity } from "./rows.ts";

/** Activities that record what an operator did on the server's machine. No request creates them, and nobody votes on them. */
interface OperatorActivities {
  ACTIVITY_TYPE_RECOVER_ROOT_QUORUM: { intent: RecoveryIntent; result: RecoveryResult };
  ACTIVITY_TYPE_SET_ORGANIZATION_QUOTA: { intent: QuotaIntent; result: QuotaResult };
  ACTIVITY_TYPE_REMOVE_IP_ALLOWLISTS: { intent: ByOperator; result: RemovedAllowlists };
}
type OperatorActivityType = keyof OperatorActivities;

/** The keys of intent and result, by type. */
const keys: Readonly<Record<OperatorActivityType, string>> = {
  ACTIVITY_TYPE_RECOVER_ROOT_QUORUM: "recoverRootQuorum",
  ACTIVITY_TYPE_SET_ORGANIZATION_QUOTA: "setOrganizationQuota",
  ACTIVITY_TYPE_REMOVE_IP_ALLOWLISTS: "removeIpAllowlists",
};

export const operatorActivityTypes = Object.keys(keys) as OperatorActivityType[];

export const isOperatorActivity = (type: string): boolean => Object.hasOwn(keys, type);

/** The user who ran the command, according to the operating system. */
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
  /** Null means unlimited; `default` means the installation's figure. */
  figure: number | null | "default";
}

export interface QuotaResult {
  /** The figure that applies from now on, and the previous one; null means unlimited. */
  figure: number | null;
  previousFigure: number | null;
}

export interface RemovedAllowlists {
  /** The allowlists in the form of `get_ip_allowlist`: of the API key that is named, or of the organization. */
  removed: readonly { publicKey?: string; rules: readonly { cidr: string }[] }[];
}

/** Stores an operator's action as an activity of the organization, in the transaction that carries it out. */
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

/** The operator who did it; undefined for an activity of a request. */
export function operatorOf({ type, intent }: ActivityRecord): Operator | undefined {
  const key = Object.hasOwn(keys, type) ? keys[type as OperatorActivityType] : undefined;
  return key === undefined ? undefined : (intent[`${key}Intent`] as ByOperator).operator;
}
