import { Type } from "typebox";
import { activity } from "../../engine/declare.ts";
import { SomeIds, Strict } from "../../engine/fields.ts";
import { removePolicies } from "./store.ts";

export const deletePolicies = activity({
  path: "delete_policies",
  summary: "Delete several policies; all of them or none.",
  intent: Strict({ policyIds: SomeIds }),
  result: Type.Object({ policyIds: Type.Array(Type.String()) }),
  subject: () => ({ governedBy: "policies", resource: "POLICY", action: "DELETE" }),
  async run({ intent: { policyIds }, tx, organization }) {
    await removePolicies(tx, organization.id, policyIds);
    return { policyIds };
  },
});
