import { Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id } from "../../engine/fields.ts";
import { MAX_LISTED_TVC_DEPLOYMENTS } from "../../kernel/limits.ts";
import { TvcDeployment } from "./model.ts";
import { findDeployments, findListed, renderDeployments, requireApp } from "./store.ts";

export const listTvcAppDeployments = query({
  path: "list_tvc_app_deployments",
  summary: `The deployments of an app, deleted ones included: as many of the newest ${MAX_LISTED_TVC_DEPLOYMENTS} as one answer holds, the newest first.`,
  request: Type.Object({ organizationId: Id, appId: Id }),
  response: Type.Object({ tvcDeployments: Type.Array(TvcDeployment) }),
  async run({ request, read, organization, takeRoom }) {
    const app = await requireApp(read, organization.id, request.appId);
    const listed = await findListed(read, organization.id, app);
    await takeRoom(listed.reduce((sum, { bytes }) => sum + bytes, 0));
    const ids = listed.map(({ id }) => id);
    const rows = await findDeployments(read, organization.id, ids);
    return { tvcDeployments: await renderDeployments(read, app, rows) };
  },
});
