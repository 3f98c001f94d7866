import { Type } from "typebox";
import { isActiveAt } from "../../authority/decisions/conditions.ts";
import { query } from "../../engine/declare.ts";
import { Id } from "../../engine/fields.ts";
import { PolicyError } from "../../policy/errors.ts";
import { bytesOfPolicies, findPolicies } from "./store.ts";

const Status = Type.Object(
  {
    organizationId: Type.String(),
    policyId: Type.String(),
    active: Type.Boolean(),
    timeExpr: Type.Optional(Type.String()),
    error: Type.Optional(Type.String()),
  },
  { $id: "ActivePolicyStatus" },
);

export const getActivePolicies = query({
  path: "get_active_policies",
  summary:
    "Get whether each policy is active now. A policy without a time always is; a policy whose time cannot be evaluated is not.",
  request: Type.Object({ organizationId: Id }),
  response: Type.Object({ statuses: Type.Array(Status), evaluatedAtMs: Type.String() }),
  async run({ read, organization: { id: organizationId }, budget, now, takeRoom }) {
    await takeRoom(await bytesOfPolicies(read, organizationId));
    const statuses = [];
    for (const { policyId, time } of await findPolicies(read, organizationId)) {
      const value = time === undefined || isActiveAt(time, now, await budget.turn());
      statuses.push({
        organizationId,
        policyId,
        active: value === true,
        ...(time === undefined ? {} : { timeExpr: time }),
        ...(value instanceof PolicyError ? { error: value.message } : {}),
      });
    }
    return { statuses, evaluatedAtMs: String(now) };
  },
});
