import { Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id } from "../../engine/fields.ts";
import { MAX_LISTED_TVC_DEPLOYMENTS } from "../../kernel/limits.ts";
import { TvcDeployment } from "./model.ts";
import { findDeployments, renderDeployments, requireApp } from "./store.ts";

export const listTvcAppDeployments = query({
  path: "list_tvc_app_deployments",
  summary: `The deployments of an app, deleted ones included: the newest ${MAX_LISTED_TVC_DEPLOYMENTS}, the newest first.`,
  request: Type.Object({ organizationId: Id, appId: Id }),
  response: Type.Object({ tvcDeployments: Type.Array(TvcDeployment) }),
  async run({ request, read, organization, takeRoom }) {
    const app = await requireApp(read, organization.id, request.appId);
    const rows = await findDeployments(read, organization.id, app.id);
    // Each is shown with its sets and its approvals, which the manifest tells the size of.
    await takeRoom(rows.reduce((sum, { manifest }) => sum + 4 * manifest.length, 0));
    return { tvcDeployments: await renderDeployments(read, app, rows) };
  },
});
