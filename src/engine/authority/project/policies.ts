import type { Transactor } from "../../../storage/engine.ts";
import { laterInsert, laterUpdate } from "../../../storage/prepared.ts";
import { deleteRows, timesOf, updateRows } from "./rows.ts";
import { countMfaPolicies } from "./users.ts";
import type { Writers } from "./writers.ts";

const newPolicies = laterInsert("policies", {
  id: "text",
  organization_id: "text",
  name: "text",
  effect: "text",
  consensus: "text",
  condition: "text",
  time: "text",
  notes: "text",
  created_at: "integer",
  updated_at: "integer",
});

/** Makes every process read the organization's policies again at the next authentication. */
const changedPolicies = laterUpdate("organizations", {
  by: { id: "text" },
  given: { times: "integer" },
  set: { policies_version: '"organizations"."policies_version" + "new"."times"' },
  merged: (before, after) => ({ ...after, times: (before.times ?? 0) + (after.times ?? 0) }),
});

/** Increments the version of the policies once, however many were changed. */
export const raisePoliciesVersion = (tx: Transactor, organizationId: string): Promise<unknown> =>
  tx.later(changedPolicies, { id: organizationId, times: 1 });

export const policyWriters = {
  async addPolicies(tx, organizationId, { policies }) {
    for (const { createdAt, updatedAt, ...policy } of policies) {
      const times = timesOf({ createdAt, updatedAt });
      await tx.later(newPolicies, { ...policy, organization_id: organizationId, ...times });
    }
  },

  changePolicy: (tx, organizationId, { policyId, change, now }) =>
    updateRows(tx, "policies", { organizationId, id: policyId }, { ...change, updated_at: now }),

  removePolicies: (tx, organizationId, { policyIds }) => deleteRows(tx, "policies", { organizationId, ids: policyIds }),

  async addMfaPolicy(tx, organizationId, { userId, policy }) {
    const { id, name, condition, requiredMethods, order, notes } = policy;
    const row = { id, organization_id: organizationId, user_id: userId, name, condition, position: order, notes };
    await tx
      .insertInto("mfa_policies")
      .values({ ...row, required_methods: JSON.stringify(requiredMethods), ...timesOf(policy) })
      .execute();
    await countMfaPolicies(tx, { organizationId, userId, more: 1 });
  },

  changeMfaPolicy(tx, organizationId, { mfaPolicyId, change, now }) {
    const { requiredMethods, order, ...texts } = change;
    const values = {
      ...texts,
      ...(requiredMethods === undefined ? {} : { required_methods: JSON.stringify(requiredMethods) }),
      ...(order === undefined ? {} : { position: order }),
      updated_at: now,
    };
    return updateRows(tx, "mfa_policies", { organizationId, id: mfaPolicyId }, values);
  },

  async removeMfaPolicy(tx, organizationId, { userId, mfaPolicyId }) {
    await deleteRows(tx, "mfa_policies", { organizationId, id: mfaPolicyId });
    await countMfaPolicies(tx, { organizationId, userId, more: -1 });
  },
} satisfies Partial<Writers>;
