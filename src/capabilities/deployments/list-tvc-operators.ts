import { Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id } from "../../engine/fields.ts";
import { TvcOperator } from "./model.ts";
import { findOperators, renderOperator } from "./operators.ts";

export const listTvcOperators = query({
  path: "list_tvc_operators",
  summary: "List the operators of the organization, the newest first.",
  request: Type.Object({ organizationId: Id }),
  response: Type.Object({ tvcOperators: Type.Array(TvcOperator) }),
  run: async ({ read, organization }) => ({
    tvcOperators: (await findOperators(read, organization.id)).map(renderOperator),
  }),
});
