import { Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id } from "../../engine/fields.ts";
import { TvcApp } from "./model.ts";
import { renderApp, requireApp, setsOf } from "./store.ts";

export const getTvcApp = query({
  path: "get_tvc_app",
  summary: "Get an app, even after it was deleted.",
  needs: ["deployments"],
  request: Type.Object({ organizationId: Id, tvcAppId: Id }),
  response: Type.Object({ tvcApp: TvcApp }),
  async run({ request, read, organization, deployments }) {
    const app = await requireApp(read, organization.id, request.tvcAppId);
    const sets = await setsOf(read, organization.id, [app]);
    return { tvcApp: renderApp(app, sets(app), deployments) };
  },
});
