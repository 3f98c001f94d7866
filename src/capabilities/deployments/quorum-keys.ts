import type { Selectable } from "kysely";
import { ONLY_ELSEWHERE } from "../../authority/quotas.ts";
import { halvesOf } from "../../crypto/manifests/approvals.ts";
import { timestampOf } from "../../engine/fields.ts";
import { enforceQuota } from "../../engine/fixed-quotas.ts";
import { fail } from "../../kernel/errors.ts";
import { MAX_TVC_QUORUM_KEYS } from "../../kernel/limits.ts";
import type { Reader, Transactor } from "../../storage/engine.ts";
import type { Schema } from "../../storage/schema.ts";
import type { TvcQuorumKey } from "./model.ts";
import { findOperators, type OperatorRow, type OperatorSet } from "./operators.ts";

/** Quorum keys of apps that were generated here, with a share for each operator. */

type QuorumKeyRow = Selectable<Schema["tvc_quorum_keys"]>;
type ShareRow = Selectable<Schema["tvc_quorum_key_shares"]>;
export type QuorumKey = QuorumKeyRow & { shares: ShareRow[] };

const FIELD = "parameters.operatorEncryptKeys";

/**
 * The operators with these encryption keys, in the same order. If several operators have a key, the oldest.
 *
 * @throws KeysteadError TVC_QUORUM_KEY_INVALID
 */
export async function operatorsByEncryptKey(
  read: Reader,
  organizationId: string,
  encryptKeys: readonly string[],
): Promise<OperatorRow[]> {
  const newestFirst = await findOperators(read, organizationId);
  const known = new Map(newestFirst.map((operator) => [halvesOf(operator.public_key).encrypt, operator]));
  return encryptKeys.map((encryptKey, index) => {
    const operator = known.get(encryptKey);
    const reason =
      "is not the encryption key of an operator of the organization; create an operator with create_tvc_operator";
    return operator ?? fail("TVC_QUORUM_KEY_INVALID", { field: `${FIELD}.${index}`, reason });
  });
}

/** @throws KeysteadError QUOTA_EXCEEDED */
export async function addQuorumKey(
  tx: Transactor,
  { organizationId, now }: { organizationId: string; now: number },
  made: { id: string; publicKey: string; threshold: number },
  shares: readonly { id: string; operatorId: string; encryptedShare: string; digest: string }[],
): Promise<void> {
  const { id, publicKey: public_key, threshold } = made;
  const row = { id, organization_id: organizationId, public_key, threshold, created_at: now, updated_at: now };
  await tx.insertInto("tvc_quorum_keys").values(row).execute();
  const rows = shares.map((share, position) => ({
    id: share.id,
    organization_id: organizationId,
    quorum_key_id: id,
    position,
    operator_id: share.operatorId,
    encrypted_share: share.encryptedShare,
    digest: share.digest,
  }));
  await tx.insertInto("tvc_quorum_key_shares").values(rows).execute();
  const quota = {
    table: "tvc_quorum_keys",
    kind: "TVC quorum keys",
    limit: MAX_TVC_QUORUM_KEYS,
    remedy: ONLY_ELSEWHERE,
  } as const;
  await enforceQuota(tx, quota, { organization_id: organizationId });
}

/** All quorum keys of the organization, newest first. */
export async function findQuorumKeys(read: Reader, organizationId: string): Promise<QuorumKey[]> {
  const keys = await read
    .selectFrom("tvc_quorum_keys")
    .selectAll()
    .where("organization_id", "=", organizationId)
    .execute();
  const shares = await read
    .selectFrom("tvc_quorum_key_shares")
    .selectAll()
    .where("organization_id", "=", organizationId)
    .execute();
  return keys.sort((a, b) => (a.id < b.id ? 1 : -1)).map((key) => withShares(key, shares));
}

/** Finds a quorum key by its id or its public key. */
export async function findQuorumKey(
  read: Reader,
  organizationId: string,
  named: { id: string } | { public_key: string },
): Promise<QuorumKey | undefined> {
  const [column, value] = "id" in named ? (["id", named.id] as const) : (["public_key", named.public_key] as const);
  const key = await read
    .selectFrom("tvc_quorum_keys")
    .selectAll()
    .where("organization_id", "=", organizationId)
    .where(column, "=", value)
    .executeTakeFirst();
  if (!key) return undefined;
  const shares = await read
    .selectFrom("tvc_quorum_key_shares")
    .selectAll()
    .where("organization_id", "=", organizationId)
    .where("quorum_key_id", "=", key.id)
    .execute();
  return withShares(key, shares);
}

const withShares = (key: QuorumKeyRow, shares: readonly ShareRow[]): QuorumKey => ({
  ...key,
  shares: shares.filter(({ quorum_key_id }) => quorum_key_id === key.id).sort((a, b) => a.position - b.position),
});

/**
 * Checks that the share set can reconstruct the quorum key: otherwise the app could never run.
 *
 * @throws KeysteadError TVC_OPERATOR_SET_INVALID
 */
export function checkHolders({ threshold, shares }: QuorumKey, shareSet: OperatorSet, field: string): void {
  const refuse = (reason: string) => fail("TVC_OPERATOR_SET_INVALID", { field, reason });
  if (shareSet.threshold !== threshold) {
    refuse(`has the threshold ${shareSet.threshold}, but the app's quorum key has ${threshold}`);
  }
  const [holders, members] = [shares.map(({ operator_id }) => operator_id), shareSet.operators.map(({ id }) => id)];
  if (holders.length === members.length && holders.every((id) => members.includes(id))) return;
  refuse(`must have exactly the operators who hold shares of the app's quorum key: ${holders.join(", ")}`);
}

export const renderQuorumKey = ({ shares, ...key }: QuorumKey): TvcQuorumKey => ({
  id: key.id,
  publicKey: key.public_key,
  threshold: key.threshold,
  operatorIds: shares.map(({ operator_id }) => operator_id),
  createdAt: timestampOf(key.created_at),
  updatedAt: timestampOf(key.updated_at),
  shares: shares.map(({ id, operator_id, encrypted_share }) => ({
    shareId: id,
    operatorId: operator_id,
    encryptedShare: encrypted_share,
  })),
});
