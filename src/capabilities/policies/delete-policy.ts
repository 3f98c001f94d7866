import { Type } from "typebox";
import { removePolicies } from "../../authority/rules/policies.ts";
import { changesOn } from "../../authority/view.ts";
import { activity } from "../../engine/declare.ts";
import { Id, Strict } from "../../engine/fields.ts";

export const deletePolicy = activity({
  path: "delete_policy",
  summary: "Delete a policy.",
  intent: Strict({ policyId: Id }),
  result: Type.Object({ policyId: Type.String() }),
  subject: () => ({ governedBy: "policies", resource: "POLICY", action: "DELETE" }),
  change: ({ view, intent: { policyId } }) => changesOn(view, (draft) => removePolicies(draft, [policyId])),
  answer: ({ intent: { policyId } }) => ({ policyId }),
});
