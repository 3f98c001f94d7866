import { Type } from "typebox";
import { activity } from "../../engine/declare.ts";
import { Id, Strict } from "../../engine/fields.ts";
import { fail } from "../../kernel/errors.ts";
import { findRuns, requireDeployment, requireOpenApp, updateApp } from "./store.ts";

export const setTvcAppLiveDeployment = activity({
  path: "set_tvc_app_live_deployment",
  word: "update_tvc_app_live_deployment",
  summary: "Direct requests to an app's domain to this deployment, which must be approved and have a ready replica.",
  intent: Strict({ deploymentId: Id }),
  result: Type.Object({}),
  subject: () => ({ governedBy: "policies", resource: "TVC_APP", action: "UPDATE" }),
  async run({ intent: { deploymentId: id }, tx, organization: { id: organizationId }, now }) {
    const deployment = await requireDeployment(tx, organizationId, id);
    const app = await requireOpenApp(tx, organizationId, deployment.app_id);
    if (deployment.deleted_at !== null) fail("TVC_DEPLOYMENT_DELETED", { id });
    const refuse = (reason: string) => fail("TVC_DEPLOYMENT_NOT_READY", { id, reason });
    if (deployment.approved_at === null) refuse("too few operators have approved its manifest");
    const run = (await findRuns(tx, organizationId, [id], now)).get(id);
    if (!run) refuse('no server runs it; that requires a server with `tvc: { runner: "local" }` in its configuration');
    else if (run.readyReplicas === 0) refuse("none of its replicas is ready; get_app_status shows when one is");
    await updateApp(tx, app, { live_deployment_id: id, updated_at: now });
    return {};
  },
});
