import { expressions } from "../../authority/decisions/conditions.ts";
import {
  MAX_REMEMBERED_COLUMNS,
  MAX_REMEMBERED_DECISIONS,
  MAX_REMEMBERED_POLICIES_BYTES,
  MAX_REMEMBERED_POLICY_LISTS,
} from "../../kernel/limits.ts";
import { recentlyUsed } from "../../kernel/recently-used.ts";
import { pause } from "../../kernel/turns.ts";
import { Budget } from "../../policy/budget.ts";
import type { Policy } from "../../policy/policy.ts";
import { isTransactor, type Reader } from "../../storage/engine.ts";
import { prepared } from "../../storage/prepared.ts";

/** The organization's policies, as decisions are made on them. */

const BYTES_OF_EVALUATION = 256;

/** Policies under their version, which is read afresh with every stamp. */
const policiesOf = recentlyUsed<{ version: number; policies: readonly Policy[] }>({
  entries: MAX_REMEMBERED_POLICY_LISTS,
  bytes: MAX_REMEMBERED_POLICIES_BYTES,
  sizeOf: ({ policies }) => policies.reduce((bytes, policy) => bytes + bytesOf(policy), 0),
});

/**
 * Reads policies of this version into memory, with a reader that sees only what is committed. A decision inside a transaction
 * cannot keep what it reads, so without this every one of them would read all policies again.
 */
export async function rememberPolicies(read: Reader, organizationId: string, version: number): Promise<void> {
  await loadPolicies(read, organizationId, version);
}

export async function loadPolicies(read: Reader, organizationId: string, version: number): Promise<readonly Policy[]> {
  const known = policiesOf.get(organizationId);
  if (known?.version === version) return known.policies;
  const rows = await selectPolicies(read, { organizationId });
  const policies = rows.map(({ id, effect, consensus, condition, time }) => ({
    policyId: id,
    effect,
    consensus,
    condition,
    time: time ?? undefined,
  }));
  // What a transaction sees may never be committed, and its version then means something else.
  if (!isTransactor(read)) {
    await compileAll(organizationId, policies);
    policiesOf.set(organizationId, { version, policies });
  }
  return policies;
}

/** Compiles what will be asked for, outside of any transaction; no request pays for what all of them use. */
async function compileAll(organizationId: string, policies: readonly Policy[]): Promise<void> {
  const unbounded = new Budget(Number.POSITIVE_INFINITY);
  for (const policy of policies) {
    for (const scope of ["consensus", "condition", "time"] as const) {
      const { [scope]: source = "" } = policy;
      if (source === "") continue;
      await pause(organizationId);
      expressions.program(source, scope, unbounded);
    }
  }
}

/**
 * About what a policy takes in memory: itself, a word in each column of values that is remembered of it, and what it came to for each class of
 * activities and approvers (src/policy/remembered-values.ts).
 */
const bytesOf = ({ consensus = "", condition = "", time = "" }: Policy): number =>
  512 +
  8 * MAX_REMEMBERED_COLUMNS +
  BYTES_OF_EVALUATION * MAX_REMEMBERED_DECISIONS +
  2 * (consensus.length + condition.length + time.length);

/** What policies come to, as the API shows them; their names and notes decide nothing. */
export async function policiesForProof(read: Reader, organizationId: string): Promise<unknown[]> {
  const rows = await selectPolicies(read, { organizationId });
  return rows.map(({ id, effect, consensus, condition, time }) => ({
    policyId: id,
    effect,
    consensus,
    condition,
    ...(time === null ? {} : { time }),
  }));
}

const selectPolicies = prepared<{ organizationId: string }>()((db, { organizationId }) =>
  db
    .selectFrom("policies")
    .select(["id", "effect", "consensus", "condition", "time"])
    .where("organization_id", "=", organizationId)
    .orderBy("id"),
);
