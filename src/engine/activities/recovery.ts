import { createHash } from "node:crypto";
import { newId } from "../../kernel/ids.ts";
import type { Transactor } from "../../storage/engine.ts";
import type { Quorum } from "../decisions/root-quorum.ts";
import { type ActivityRecord, insertActivity } from "./records.ts";

/** The one type of activity that no request makes and nobody votes on: an operator did it on the server's machine. */
export const RECOVERY_TYPE = "ACTIVITY_TYPE_RECOVER_ROOT_QUORUM";

export interface RecoveryIntent {
  userName: string;
  apiPublicKey: string;
  reason?: string;
  /** Who ran the command, as the system of that machine says. */
  operator: { user: string; host: string };
}

export interface RecoveryResult {
  userId: string;
  rootQuorum: Quorum;
  previousRootQuorum: Quorum;
}

/** Stores a recovery that is being carried out, where everything else stands that was done in the organization. */
export async function recordRecovery(
  tx: Transactor,
  organizationId: string,
  { intent, result, now }: { intent: RecoveryIntent; result: RecoveryResult; now: number },
): Promise<ActivityRecord> {
  const id = newId();
  const statement = {
    type: RECOVERY_TYPE,
    timestampMs: String(now),
    organizationId,
    activityId: id,
    parameters: intent,
  };
  const activity: ActivityRecord = {
    id,
    organizationId,
    type: RECOVERY_TYPE,
    status: "ACTIVITY_STATUS_COMPLETED",
    fingerprint: `sha256:${createHash("sha256").update(JSON.stringify(statement)).digest("hex")}`,
    intent: { recoverRootQuorumIntent: intent },
    result: { recoverRootQuorumResult: result },
    failure: null,
    wantsProofs: false,
    createdAt: now,
    updatedAt: now,
  };
  const { type, status, fingerprint } = activity;
  const [intentJson, resultJson] = [JSON.stringify(activity.intent), JSON.stringify(activity.result)];
  const row = {
    id,
    organizationId,
    type,
    status,
    fingerprint,
    intent: intentJson,
    body: null,
    plan: null,
    result: resultJson,
    failure: null,
  };
  await insertActivity(tx, { ...row, wantsProofs: 0, now });
  return activity;
}
