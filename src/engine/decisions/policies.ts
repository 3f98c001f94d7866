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

/** The policies of an organization, for decisions. */

const BYTES_OF_EVALUATION = 256;

/** A cache of policies by version. The current version is read with every authentication. */
const policiesOf = recentlyUsed<{ version: number; policies: readonly Policy[] }>({
  entries: MAX_REMEMBERED_POLICY_LISTS,
  bytes: MAX_REMEMBERED_POLICIES_BYTES,
  sizeOf: ({ policies }) => policies.reduce((bytes, policy) => bytes + bytesOf(policy), 0),
});

/**
 * Caches the policies of this version, with a reader that sees only committed rows. A decision inside a transaction must not cache what it
 * reads, so without this each of them would read all policies again.
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
  // What a transaction reads may never be committed, and the same version number may then mean other policies.
  if (!isTransactor(read)) {
    await compileAll(organizationId, policies);
    policiesOf.set(organizationId, { version, policies });
  }
  return policies;
}

/** Compiles the policies outside of any transaction, and not at the expense of one request's budget, because all requests use them. */
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
 * The approximate memory of a policy: the policy itself, a word in each remembered column of values, and its outcome for each class of
 * activities and approvers (src/policy/remembered-values.ts).
 */
const bytesOf = ({ consensus = "", condition = "", time = "" }: Policy): number =>
  512 +
  8 * MAX_REMEMBERED_COLUMNS +
  BYTES_OF_EVALUATION * MAX_REMEMBERED_DECISIONS +
  2 * (consensus.length + condition.length + time.length);

/** The parts of policies that decide, in the API's form, for proofs. Names and notes decide nothing. */
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
