import { Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id } from "../../engine/fields.ts";
import { Policy } from "./model.ts";
import { bytesOfPolicies, findPolicies } from "./store.ts";

export const listPolicies = query({
  path: "list_policies",
  summary: "List all policies of the organization.",
  request: Type.Object({ organizationId: Id }),
  response: Type.Object({ policies: Type.Array(Policy) }),
  async run({ read, organization, takeRoom }) {
    await takeRoom(await bytesOfPolicies(read, organization.id));
    return { policies: await findPolicies(read, organization.id) };
  },
});
