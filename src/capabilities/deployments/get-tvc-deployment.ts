import { Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id } from "../../engine/fields.ts";
import { TvcDeployment } from "./model.ts";
import { renderDeployments, requireApp, requireDeployment } from "./store.ts";

export const getTvcDeployment = query({
  path: "get_tvc_deployment",
  summary: "Get a deployment with its manifest and approvals, even after it was deleted.",
  request: Type.Object({ organizationId: Id, deploymentId: Id }),
  response: Type.Object({ tvcDeployment: TvcDeployment }),
  async run({ request, read, organization }) {
    const row = await requireDeployment(read, organization.id, request.deploymentId);
    const app = await requireApp(read, organization.id, row.app_id);
    const [tvcDeployment] = await renderDeployments(read, app, [row]);
    return { tvcDeployment: tvcDeployment as TvcDeployment };
  },
});
