import { Type } from "typebox";
import { activity } from "../../engine/declare.ts";
import { SomeOf, Strict } from "../../engine/fields.ts";
import { MAX_POLICIES } from "../../kernel/limits.ts";
import { validatePolicy } from "../../policy/validate.ts";
import { PolicyParams } from "./model.ts";
import { addPolicies } from "./store.ts";

export const createPolicies = activity({
  path: "create_policies",
  summary: "Create several policies together; all of them or none.",
  intent: Strict({ policies: SomeOf(PolicyParams, MAX_POLICIES) }),
  result: Type.Object({ policyIds: Type.Array(Type.String()) }),
  subject: () => ({ governedBy: "policies", resource: "POLICY", action: "CREATE" }),
  check({ policies }) {
    for (const policy of policies) validatePolicy(policy);
  },
  async run({ intent: { policies }, tx, organization, now }) {
    const fieldOf = (index: number) => `parameters.policies.${index}.policyName`;
    return { policyIds: await addPolicies(tx, organization.id, policies, now, fieldOf) };
  },
});
