import { Type } from "typebox";
import { activity } from "../../engine/declare.ts";
import { SomeOf, Strict } from "../../engine/fields.ts";
import { MAX_POLICIES } from "../../kernel/limits.ts";
import { mapInTurns } from "../../kernel/turns.ts";
import { validatePolicy } from "../../policy/validate.ts";
import { PolicyParams, Warnings } from "./model.ts";
import { addPolicies, refuseLongTexts } from "./store.ts";
import { warningsAboutAll, warningsOfPolicies } from "./warnings.ts";

export const createPolicies = activity({
  path: "create_policies",
  summary: "Create several policies together; all of them or none.",
  intent: Strict({ policies: SomeOf(PolicyParams, MAX_POLICIES) }),
  result: Type.Object({ policyIds: Type.Array(Type.String()), warnings: Type.Optional(Warnings) }),
  subject: () => ({ governedBy: "policies", resource: "POLICY", action: "CREATE" }),
  async check({ policies }) {
    refuseLongTexts(policies);
    await mapInTurns(policies, validatePolicy);
  },
  prepare: ({ intent: { policies }, budget }) => warningsAboutAll(policies, budget),
  async run({ intent: { policies }, tx, organization, now, prepared }) {
    const fieldOf = (index: number) => `parameters.policies.${index}.policyName`;
    const policyIds = await addPolicies(tx, organization.id, policies, now, fieldOf);
    return { policyIds, ...warningsOfPolicies(policyIds, prepared) };
  },
});
