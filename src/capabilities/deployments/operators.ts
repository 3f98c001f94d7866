import { createHash } from "node:crypto";
import type { Selectable } from "kysely";
import { ONLY_ELSEWHERE } from "../../authority/quotas.ts";
import { halvesOf } from "../../crypto/manifests/approvals.ts";
import { timestampOf } from "../../engine/fields.ts";
import { enforceQuota } from "../../engine/fixed-quotas.ts";
import { fail } from "../../kernel/errors.ts";
import type { IdFor } from "../../kernel/ids.ts";
import { MAX_TVC_OPERATOR_SETS, MAX_TVC_OPERATORS } from "../../kernel/limits.ts";
import type { Reader, Transactor } from "../../storage/engine.ts";
import type { Schema } from "../../storage/schema.ts";
import type { OperatorSetParams, TvcOperator, TvcOperatorSet } from "./model.ts";

/** Operators, who approve manifests with their keys, and sets of operators. */

export type OperatorRow = Selectable<Schema["tvc_operators"]>;

/** A set with its members, in order. */
export interface OperatorSet {
  id: string;
  name: string;
  threshold: number;
  operators: OperatorRow[];
  createdAt: number;
  updatedAt: number;
}

interface Place {
  organizationId: string;
  now: number;
}

/** The same, with the function for new ids. */
type PlaceOfSet = Place & { id: IdFor };

interface NewOperator {
  name: string;
  /** Hex, lowercase. */
  publicKey: string;
  /** The wallet whose accounts hold the keys, if they are on this server. */
  walletId?: string;
}

/** The operator with this name, these keys and, if given, this wallet. */
export async function findOperator(
  read: Reader,
  organizationId: string,
  { name, publicKey, walletId }: NewOperator,
): Promise<OperatorRow | undefined> {
  const known = await read
    .selectFrom("tvc_operators")
    .selectAll()
    .where("organization_id", "=", organizationId)
    .where("public_key", "=", publicKey)
    .execute();
  return known.find((row) => row.name === name && (walletId === undefined || row.wallet_id === walletId));
}

/** @throws KeysteadError QUOTA_EXCEEDED */
export async function addOperator(
  tx: Transactor,
  { organizationId, now }: Place,
  { id, name, publicKey, walletId }: NewOperator & { id: string },
): Promise<OperatorRow> {
  const row = {
    id,
    organization_id: organizationId,
    name,
    public_key: publicKey,
    wallet_id: walletId ?? null,
    created_at: now,
    updated_at: now,
  };
  await tx.insertInto("tvc_operators").values(row).execute();
  const quota = {
    table: "tvc_operators",
    kind: "operators",
    limit: MAX_TVC_OPERATORS,
    remedy: ONLY_ELSEWHERE,
  } as const;
  await enforceQuota(tx, quota, { organization_id: organizationId });
  return row;
}

/**
 * The set with these members, which is created unless it exists.
 *
 * @throws KeysteadError RESOURCE_NOT_FOUND, TVC_OPERATOR_SET_INVALID if an operator is in it twice, QUOTA_EXCEEDED
 */
export async function ensureSet(
  tx: Transactor,
  place: PlaceOfSet,
  { name, threshold, newOperators = [], existingOperatorIds = [] }: OperatorSetParams,
  field: string,
): Promise<OperatorSet> {
  const { organizationId, now } = place;
  const operators: OperatorRow[] = [];
  for (const [index, operator] of newOperators.entries()) {
    const wanted = { ...operator, publicKey: operator.publicKey.toLowerCase() };
    const known = await findOperator(tx, organizationId, wanted);
    operators.push(known ?? (await addOperator(tx, place, { ...wanted, id: place.id(`newOperators.${index}`) })));
  }
  for (const id of existingOperatorIds) operators.push(await requireOperator(tx, organizationId, id));
  if (signersOf(operators).size < operators.length) {
    fail("TVC_OPERATOR_SET_INVALID", {
      field,
      reason: "contains the same signing key twice, so its approvals would count twice",
    });
  }
  const fingerprint = fingerprintOf(name, threshold, operators);
  const known = await tx
    .selectFrom("tvc_operator_sets")
    .select("id")
    .where("organization_id", "=", organizationId)
    .where("fingerprint", "=", fingerprint)
    .executeTakeFirst();
  if (known) return requireSet(tx, organizationId, known.id);
  const id = place.id("set");
  await tx
    .insertInto("tvc_operator_sets")
    .values({ id, organization_id: organizationId, name, threshold, fingerprint, created_at: now, updated_at: now })
    .execute();
  const members = operators.map((operator, position) => ({
    organization_id: organizationId,
    set_id: id,
    position,
    operator_id: operator.id,
  }));
  await tx.insertInto("tvc_operator_set_members").values(members).execute();
  const quota = {
    table: "tvc_operator_sets",
    kind: "operator sets",
    limit: MAX_TVC_OPERATOR_SETS,
    remedy: ONLY_ELSEWHERE,
  } as const;
  await enforceQuota(tx, quota, { organization_id: organizationId });
  return { id, name, threshold, operators, createdAt: now, updatedAt: now };
}

/** The signing keys of operators. Each key's approval counts once. */
export const signersOf = (operators: readonly OperatorRow[]): Set<string> =>
  new Set(operators.map(({ public_key }) => halvesOf(public_key).sign));

function fingerprintOf(name: string, threshold: number, operators: readonly OperatorRow[]): string {
  const members = operators.map(({ id }) => id).sort();
  return createHash("sha256")
    .update(JSON.stringify([name, threshold, members]))
    .digest("hex");
}

/** All operators of the organization, newest first. */
export async function findOperators(read: Reader, organizationId: string): Promise<OperatorRow[]> {
  const rows = await read
    .selectFrom("tvc_operators")
    .selectAll()
    .where("organization_id", "=", organizationId)
    .execute();
  return rows.sort((a, b) => (a.id < b.id ? 1 : -1));
}

/** @throws KeysteadError RESOURCE_NOT_FOUND */
export async function requireOperator(read: Reader, organizationId: string, id: string): Promise<OperatorRow> {
  const row = await read
    .selectFrom("tvc_operators")
    .selectAll()
    .where("organization_id", "=", organizationId)
    .where("id", "=", id)
    .executeTakeFirst();
  return row ?? fail("RESOURCE_NOT_FOUND", { kind: "operator", id, organizationId });
}

/** @throws KeysteadError RESOURCE_NOT_FOUND */
export async function requireSet(read: Reader, organizationId: string, id: string): Promise<OperatorSet> {
  return (
    (await findSets(read, organizationId, [id])).get(id) ??
    fail("RESOURCE_NOT_FOUND", { kind: "operator set", id, organizationId })
  );
}

/** The sets with these ids, by id. Missing ones are skipped. */
export async function findSets(
  read: Reader,
  organizationId: string,
  ids: readonly string[],
): Promise<Map<string, OperatorSet>> {
  if (ids.length === 0) return new Map();
  const sets = await read
    .selectFrom("tvc_operator_sets")
    .selectAll()
    .where("organization_id", "=", organizationId)
    .where("id", "in", [...new Set(ids)])
    .execute();
  const members = await read
    .selectFrom("tvc_operator_set_members as m")
    .innerJoin("tvc_operators as o", (join) =>
      join.onRef("o.organization_id", "=", "m.organization_id").onRef("o.id", "=", "m.operator_id"),
    )
    .selectAll("o")
    .select(["m.set_id", "m.position"])
    .where("m.organization_id", "=", organizationId)
    .where("m.set_id", "in", [...new Set(ids)])
    .execute();
  members.sort((a, b) => a.position - b.position);
  return new Map(
    sets.map((set) => {
      const operators = members.filter(({ set_id }) => set_id === set.id);
      const { id, name, threshold, created_at: createdAt, updated_at: updatedAt } = set;
      return [id, { id, name, threshold, operators, createdAt, updatedAt }];
    }),
  );
}

export function renderOperator(row: OperatorRow): TvcOperator {
  const keys = halvesOf(row.public_key);
  return {
    id: row.id,
    name: row.name,
    publicKey: row.public_key,
    createdAt: timestampOf(row.created_at),
    updatedAt: timestampOf(row.updated_at),
    encryptPublicKey: keys.encrypt,
    signPublicKey: keys.sign,
    keySource: row.wallet_id === null ? "EXTERNAL_KEY" : "ORG_WALLET_ACCOUNT",
  };
}

export const renderSet = (organizationId: string, set: OperatorSet): TvcOperatorSet => ({
  id: set.id,
  name: set.name,
  organizationId,
  operators: set.operators.map(renderOperator),
  threshold: set.threshold,
  createdAt: timestampOf(set.createdAt),
  updatedAt: timestampOf(set.updatedAt),
});
