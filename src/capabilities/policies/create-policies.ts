import { Type } from "typebox";
import { addPolicies, refuseTooManyPolicies } from "../../authority/rules/policies.ts";
import { changesOn } from "../../authority/view.ts";
import { activity } from "../../engine/declare.ts";
import { SomeOf, Strict } from "../../engine/fields.ts";
import { MAX_POLICIES } from "../../kernel/limits.ts";
import { mapInTurns } from "../../kernel/turns.ts";
import { validatePolicy } from "../../policy/validate.ts";
import { newPolicy, PolicyParams, Warnings } from "./model.ts";
import { warningsAboutAll, warningsOfPolicies } from "./warnings.ts";

export const createPolicies = activity({
  path: "create_policies",
  summary: "Create several policies: all of them, or none.",
  intent: Strict({ policies: SomeOf(PolicyParams, MAX_POLICIES) }),
  result: Type.Object({ policyIds: Type.Array(Type.String()), warnings: Type.Optional(Warnings) }),
  subject: () => ({ governedBy: "policies", resource: "POLICY", action: "CREATE" }),
  async check({ policies }, { organizationId }) {
    refuseTooManyPolicies(policies);
    await mapInTurns(policies, validatePolicy, organizationId);
  },
  prepare: ({ intent: { policies }, budget }) => warningsAboutAll(policies, budget),
  change: ({ view, id, intent: { policies }, now }) =>
    changesOn(view, (draft) => {
      const added = policies.map((policy, index) => newPolicy(policy, id(`policies.${index}`)));
      addPolicies(draft, added, now, (index) => `parameters.policies.${index}.policyName`);
    }),
  answer({ id, intent: { policies }, prepared }) {
    const policyIds = policies.map((_, index) => id(`policies.${index}`));
    return { policyIds, ...warningsOfPolicies(policyIds, prepared) };
  },
});
