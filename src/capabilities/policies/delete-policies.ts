import { Type } from "typebox";
import { removePolicies } from "../../authority/rules/policies.ts";
import { changesOn } from "../../authority/view.ts";
import { activity } from "../../engine/declare.ts";
import { SomeIds, Strict } from "../../engine/fields.ts";

export const deletePolicies = activity({
  path: "delete_policies",
  summary: "Delete several policies: all of them, or none.",
  intent: Strict({ policyIds: SomeIds }),
  result: Type.Object({ policyIds: Type.Array(Type.String()) }),
  subject: () => ({ governedBy: "policies", resource: "POLICY", action: "DELETE" }),
  change: ({ view, intent: { policyIds } }) => changesOn(view, (draft) => removePolicies(draft, policyIds)),
  answer: ({ intent: { policyIds } }) => ({ policyIds }),
});
