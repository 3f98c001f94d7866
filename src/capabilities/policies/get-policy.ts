import { Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id } from "../../engine/fields.ts";
import { fail } from "../../kernel/errors.ts";
import { Policy } from "./model.ts";
import { findPolicies } from "./store.ts";

export const getPolicy = query({
  path: "get_policy",
  summary: "One policy.",
  request: Type.Object({ organizationId: Id, policyId: Id }),
  response: Type.Object({ policy: Policy }),
  async run({ request: { policyId: id }, read, organization }) {
    const [policy] = await findPolicies(read, organization.id, id);
    if (!policy) fail("RESOURCE_NOT_FOUND", { kind: "policy", id, organizationId: organization.id });
    return { policy };
  },
});
