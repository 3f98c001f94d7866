import { Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id } from "../../engine/fields.ts";
import { statusFields } from "./model.ts";
import { shownStatus } from "./status.ts";

export const getEarnDeployStatus = query({
  path: "get_earn_deploy_status",
  summary: "Get the status of the deployment of a wrapper: PENDING, COMPLETED, or FAILED with the reason.",
  request: Type.Object({ organizationId: Id, deployRequestId: Id }),
  response: Type.Object({ ...statusFields, deployTxHash: Type.Optional(Type.String()) }),
  async run({ read, organization, request: { deployRequestId } }) {
    const { hash, ...shown } = await shownStatus(read, organization, deployRequestId, "DEPLOY");
    return hash === undefined ? shown : { ...shown, deployTxHash: hash };
  },
});
