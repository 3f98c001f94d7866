import { Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id } from "../../engine/fields.ts";
import { TvcApp } from "./model.ts";
import { bytesOfSets, findApps, renderApp, setsOf } from "./store.ts";

export const listTvcApps = query({
  path: "list_tvc_apps",
  summary: "List the apps of the organization that were not deleted, the oldest first.",
  needs: ["deployments"],
  request: Type.Object({ organizationId: Id }),
  response: Type.Object({ tvcApps: Type.Array(TvcApp) }),
  async run({ read, organization, deployments, takeRoom }) {
    const apps = await findApps(read, organization.id);
    const sets = await setsOf(read, organization.id, apps);
    // Apps may share sets, but the response repeats both sets in full for each app.
    await takeRoom(apps.reduce((sum, app) => sum + bytesOfSets(sets(app)), 0));
    return { tvcApps: apps.map((app) => renderApp(app, sets(app), deployments)) };
  },
});
