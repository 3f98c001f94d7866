import { Type } from "typebox";
import { activity } from "../../engine/declare.ts";
import { Id, Strict } from "../../engine/fields.ts";
import { deleteDeployment, findOpenDeployments, requireOpenApp, updateApp } from "./store.ts";

export const deleteTvcAppAndDeployments = activity({
  path: "delete_tvc_app_and_deployments",
  summary: "Delete an app and stop all its deployments, including the live one, permanently. Their records are kept.",
  needs: ["deployments"],
  intent: Strict({ appId: Id }),
  result: Type.Object({ appId: Type.String() }),
  subject: () => ({ governedBy: "policies", resource: "TVC_APP", action: "DELETE" }),
  async run({ intent: { appId }, tx, organization: { id: organizationId }, now, deployments }) {
    const app = await requireOpenApp(tx, organizationId, appId);
    for (const deployment of await findOpenDeployments(tx, organizationId, appId)) {
      if (deployment.deleted_at !== null) continue;
      await deleteDeployment(tx, deployment, { now, cleanUpAfterMs: deployments.cleanUpAfterMs });
    }
    await updateApp(tx, app, { live_deployment_id: null, deleted_at: now, updated_at: now });
    return { appId };
  },
});
