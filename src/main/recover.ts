import { seatNewUsers } from "../authority/rules/root-quorum.ts";
import { addUser } from "../authority/rules/users.ts";
import {
  type RecoveryIntent,
  type RecoveryResult,
  recordOperatorActivity,
} from "../engine/activities/operator-activities.ts";
import { changeAuthority } from "../engine/authority/project.ts";
import { findRootQuorum } from "../engine/authority/root-quorum.ts";
import { findAllowlist } from "../engine/identity/allowlists.ts";
import { KeysteadError } from "../kernel/errors.ts";
import { newId } from "../kernel/ids.ts";
import type { Database } from "../storage/database.ts";
import type { Transactor } from "../storage/engine.ts";
import type { AuditSettings } from "./audit/settings.ts";
import { type Config, StartProblem } from "./config.ts";
import { type OperatorContext, requireLabel, requireOrganization, tellOf, thisOperator } from "./operators/operator.ts";

const RECOVERY_TYPE = "ACTIVITY_TYPE_RECOVER_ROOT_QUORUM";

export interface Recovery {
  organizationId: string;
  userName: string;
  /** A P-256 key, compressed, in lowercase hex. */
  publicKey: string;
  reason: string | undefined;
}

/** The changes. */
export interface Recovered extends RecoveryResult {
  organizationId: string;
  /** The activity that records them; `get_activity` shows it. */
  activityId: string;
  userName: string;
  apiPublicKey: string;
  /** If true, the new key works only from addresses on the list. */
  ipAllowlistEnabled: boolean;
}

/** @throws StartProblem if the setting forbids it, or if this runs in a container and the setting does not allow it */
export function requireRecoveryAllowed({ recovery }: Config): void {
  if (recovery.isAllowed) return;
  throw new StartProblem(`keystead recover is switched off: ${recovery.reason}`);
}

/**
 * Adds a user with one API key and makes that user the only member of the root quorum, in one transaction under the lock that all changes of the
 * organization take. Nothing else changes. Existing users and credentials stay, and the new root quorum can decide on them.
 *
 * @throws StartProblem
 */
export async function recoverRootQuorum(
  database: Database,
  recovery: Recovery,
  { audit, clock }: OperatorContext,
): Promise<Recovered> {
  requireLabel("--user-name", recovery.userName);
  requireLabel("--reason", recovery.reason);
  let written = false;
  try {
    return await database.transact(recovery.organizationId, async (tx) => {
      const recovered = await recover(tx, recovery, audit, clock());
      written = true;
      return recovered;
    });
  } catch (error) {
    if (error instanceof StartProblem) throw error;
    const { message } = error as Error;
    if (error instanceof KeysteadError && error.httpStatus < 500) throw new StartProblem(message);
    throw new StartProblem(
      written
        ? `it is not known whether the recovery was stored: ${message}. Look for the new user before you try again`
        : `organization ${recovery.organizationId} could not be locked: ${message}. Nothing was changed; try again`,
    );
  }
}

async function recover(
  tx: Transactor,
  recovery: Recovery,
  audit: AuditSettings | undefined,
  now: number,
): Promise<Recovered> {
  const { organizationId, userName, publicKey: apiPublicKey, reason } = recovery;
  const organization = await requireOrganization(tx, organizationId);
  const previousRootQuorum = await findRootQuorum(tx, organizationId);
  const userId = newId();
  const apiKey = {
    id: newId(),
    name: "Recovery API key",
    publicKey: apiPublicKey,
    type: "CREDENTIAL_TYPE_API_KEY_P256",
    sessionProfileId: null,
    grade: null,
    expirationSeconds: null,
  };
  // Quotas do not apply: nobody can act in the organization to make room.
  const user = { id: userId, name: userName, apiKeys: [apiKey], authenticators: [], oauthProviders: [], tagIds: [] };
  const rootQuorum = { threshold: 1, userIds: [userId] };
  await changeAuthority(tx, organizationId, (draft) => {
    addUser(draft, user, now, "user");
    seatNewUsers(draft, rootQuorum, now);
  });
  const intent: RecoveryIntent = {
    userName,
    apiPublicKey,
    ...(reason === undefined ? {} : { reason }),
    operator: thisOperator(),
  };
  const result = { userId, rootQuorum, previousRootQuorum };
  const activity = await recordOperatorActivity(tx, organizationId, RECOVERY_TYPE, { intent, result, now });
  await tellOf(tx, audit, { activity, votes: [], organization, now });
  const ipAllowlistEnabled = (await findAllowlist(tx, organizationId)) !== undefined;
  return { organizationId, activityId: activity.id, userName, apiPublicKey, ...result, ipAllowlistEnabled };
}
