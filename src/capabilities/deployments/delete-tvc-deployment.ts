import { Type } from "typebox";
import { activity } from "../../engine/declare.ts";
import { Id, Strict } from "../../engine/fields.ts";
import { fail } from "../../kernel/errors.ts";
import { deleteDeployment, requireDeployment, requireOpenApp } from "./store.ts";

export const deleteTvcDeployment = activity({
  path: "delete_tvc_deployment",
  summary: "Stop a deployment that is not the live one. It can be restored until it is cleaned up; its record is kept.",
  needs: ["deployments"],
  intent: Strict({ deploymentId: Id }),
  result: Type.Object({ deploymentId: Type.String() }),
  subject: () => ({ governedBy: "policies", resource: "TVC_DEPLOYMENT", action: "DELETE" }),
  async run({ intent: { deploymentId: id }, tx, organization: { id: organizationId }, now, deployments }) {
    const deployment = await requireDeployment(tx, organizationId, id);
    const app = await requireOpenApp(tx, organizationId, deployment.app_id);
    if (deployment.deleted_at !== null) fail("TVC_DEPLOYMENT_DELETED", { id });
    if (app.live_deployment_id === id) fail("TVC_DEPLOYMENT_LIVE", { id });
    await deleteDeployment(tx, deployment, { now, cleanUpAfterMs: deployments.cleanUpAfterMs });
    return { deploymentId: id };
  },
});
