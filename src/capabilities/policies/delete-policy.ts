import { Type } from "typebox";
import { activity } from "../../engine/declare.ts";
import { Id, Strict } from "../../engine/fields.ts";
import { removePolicies } from "./store.ts";

export const deletePolicy = activity({
  path: "delete_policy",
  summary: "Delete a policy.",
  intent: Strict({ policyId: Id }),
  result: Type.Object({ policyId: Type.String() }),
  subject: () => ({ governedBy: "policies", resource: "POLICY", action: "DELETE" }),
  async run({ intent: { policyId }, tx, organization }) {
    await removePolicies(tx, organization.id, [policyId]);
    return { policyId };
  },
});
