import { sql } from "kysely";
import { timestampOf } from "../../engine/fields.ts";
import { enforceQuota } from "../../engine/quotas.ts";
import { fail } from "../../kernel/errors.ts";
import { newId } from "../../kernel/ids.ts";
import { MAX_POLICIES, MAX_POLICIES_LENGTH } from "../../kernel/limits.ts";
import type { Reader, Transactor } from "../../storage/engine.ts";
import type { Policy, PolicyParams } from "./model.ts";

/** Marks the organization's policies as changed: every process reads them afresh with the next stamp. */
async function touchPolicies(tx: Transactor, organizationId: string): Promise<void> {
  await tx
    .updateTable("organizations")
    .set((organization) => ({ policies_version: organization("policies_version", "+", 1) }))
    .where("id", "=", organizationId)
    .execute();
}

/** Adds policies in the order given; names are unique in the organization. */
export async function addPolicies(
  tx: Transactor,
  organizationId: string,
  policies: readonly PolicyParams[],
  now: number,
  fieldOf: (index: number) => string,
): Promise<string[]> {
  const ids: string[] = [];
  for (const [index, policy] of policies.entries()) {
    await refuseTakenName(tx, organizationId, policy.policyName, fieldOf(index));
    const id = newId();
    ids.push(id);
    await tx
      .insertInto("policies")
      .values({
        id,
        organization_id: organizationId,
        name: policy.policyName,
        effect: policy.effect,
        consensus: policy.consensus ?? "",
        condition: policy.condition ?? "",
        time: policy.time || null,
        notes: policy.notes,
        created_at: now,
        updated_at: now,
      })
      .execute();
  }
  await enforceQuota(
    tx,
    { table: "policies", kind: "policies", limit: MAX_POLICIES },
    { organization_id: organizationId },
  );
  await refuseTooLong(tx, organizationId);
  await touchPolicies(tx, organizationId);
  return ids;
}

interface Texts {
  consensus?: string | undefined;
  condition?: string | undefined;
  time?: string | null | undefined;
}

const lengthOf = ({ consensus, condition, time }: Texts): number =>
  (consensus?.length ?? 0) + (condition?.length ?? 0) + (time?.length ?? 0);

/** More than all policies of an organization may hold is refused before it is looked at. */
export function refuseLongTexts(policies: readonly Texts[]): void {
  if (policies.reduce((sum, policy) => sum + lengthOf(policy), 0) > MAX_POLICIES_LENGTH) refuseLength();
}

/** All policies are evaluated for an activity, so it is their texts together that are bounded. */
async function refuseTooLong(tx: Transactor, organizationId: string): Promise<void> {
  const rows = await tx
    .selectFrom("policies")
    .select(["consensus", "condition", "time"])
    .where("organization_id", "=", organizationId)
    .execute();
  if (rows.reduce((sum, row) => sum + lengthOf(row), 0) > MAX_POLICIES_LENGTH) refuseLength();
}

const refuseLength = (): never =>
  fail("QUOTA_EXCEEDED", {
    kind: "characters in the expressions of its policies together",
    limit: MAX_POLICIES_LENGTH,
  });

export interface PolicyChange {
  name?: string;
  effect?: "EFFECT_ALLOW" | "EFFECT_DENY";
  consensus?: string;
  condition?: string;
  time?: string | null;
  notes?: string;
}

/** Changes what is given and leaves the rest. */
export async function changePolicy(
  tx: Transactor,
  organizationId: string,
  policyId: string,
  change: PolicyChange,
  now: number,
): Promise<void> {
  if (change.name !== undefined) {
    await refuseTakenName(tx, organizationId, change.name, "parameters.policyName", policyId);
  }
  const { numUpdatedRows } = await tx
    .updateTable("policies")
    .set({ ...change, updated_at: now })
    .where("organization_id", "=", organizationId)
    .where("id", "=", policyId)
    .executeTakeFirst();
  if (numUpdatedRows === 0n) fail("RESOURCE_NOT_FOUND", { kind: "policy", id: policyId, organizationId });
  if (lengthOf(change) > 0) await refuseTooLong(tx, organizationId);
  await touchPolicies(tx, organizationId);
}

/** Deletes policies; one unknown id and none goes. */
export async function removePolicies(tx: Transactor, organizationId: string, ids: readonly string[]): Promise<void> {
  for (const id of new Set(ids)) {
    const { numDeletedRows } = await tx
      .deleteFrom("policies")
      .where("organization_id", "=", organizationId)
      .where("id", "=", id)
      .executeTakeFirst();
    if (numDeletedRows === 0n) fail("RESOURCE_NOT_FOUND", { kind: "policy", id, organizationId });
  }
  await touchPolicies(tx, organizationId);
}

/** What the texts of all policies of an organization take, as they are stored. */
export async function bytesOfPolicies(read: Reader, organizationId: string): Promise<number> {
  const texts = sql<number>`sum(octet_length(condition) + octet_length(consensus) + octet_length(notes)
    + coalesce(octet_length(time), 0))`;
  const rows = read.selectFrom("policies").select(texts.as("bytes")).where("organization_id", "=", organizationId);
  return Number((await rows.executeTakeFirst())?.bytes ?? 0);
}

/** All policies of the organization, or the one named. */
export async function findPolicies(read: Reader, organizationId: string, id?: string): Promise<Policy[]> {
  const rows = await read
    .selectFrom("policies")
    .selectAll()
    .where("organization_id", "=", organizationId)
    .$if(id !== undefined, (policies) => policies.where("id", "=", id as string))
    .orderBy("id")
    .execute();
  return rows.map((row) => ({
    policyId: row.id,
    policyName: row.name,
    effect: row.effect,
    createdAt: timestampOf(row.created_at),
    updatedAt: timestampOf(row.updated_at),
    notes: row.notes,
    consensus: row.consensus,
    condition: row.condition,
    ...(row.time === null ? {} : { time: row.time }),
  }));
}

async function refuseTakenName(
  tx: Transactor,
  organizationId: string,
  name: string,
  field: string,
  exceptId?: string,
): Promise<void> {
  const taken = await tx
    .selectFrom("policies")
    .select("id")
    .where("organization_id", "=", organizationId)
    .where("name", "=", name)
    .executeTakeFirst();
  if (taken && taken.id !== exceptId) fail("POLICY_LABEL_TAKEN", { field });
}
