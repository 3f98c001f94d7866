import { Type } from "typebox";
import { activity } from "../../engine/declare.ts";
import { validatePolicy } from "../../policy/validate.ts";
import { PolicyParams } from "./model.ts";
import { addPolicies } from "./store.ts";

export const createPolicy = activity({
  path: "create_policy",
  summary: "Allow or deny activities by condition, consensus and time.",
  version: 3,
  intent: PolicyParams,
  result: Type.Object({ policyId: Type.String() }),
  subject: () => ({ governedBy: "policies", resource: "POLICY", action: "CREATE" }),
  check: (policy) => validatePolicy(policy),
  async run({ intent, tx, organization, now }) {
    const [policyId] = await addPolicies(tx, organization.id, [intent], now, () => "parameters.policyName");
    return { policyId: policyId as string };
  },
});
