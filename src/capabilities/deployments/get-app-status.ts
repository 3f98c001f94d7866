import { Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id, OneOf, Timestamp, timestampOf } from "../../engine/fields.ts";
import { judgeStored } from "./approved-program.ts";
import { provisioningStates } from "./model.ts";
import { provisioningStateOf } from "./provisioning.ts";
import { findOpenDeployments, findRuns, requireApp } from "./store.ts";

const DeploymentStatus = Type.Object({
  deploymentId: Type.String(),
  readyReplicas: Type.Integer(),
  desiredReplicas: Type.Integer(),
  lastUpdatedTime: Timestamp,
  provisioningState: Type.Optional(OneOf(provisioningStates)),
  refusalReason: Type.Optional(
    Type.String({
      description:
        "why it is not run although it was approved: what is stored is not what its manifest's operators signed",
    }),
  ),
});

export const getAppStatus = query({
  path: "get_app_status",
  summary:
    "Get how many replicas of each deployment of an app should run, and how many are ready: none if the deployment is waiting for approvals or no server runs it.",
  request: Type.Object({ organizationId: Id, appId: Id }),
  response: Type.Object({
    appStatus: Type.Object({
      appId: Type.String(),
      deployments: Type.Array(DeploymentStatus),
      targetedDeploymentId: Type.String(),
    }),
  }),
  async run({ request: { appId }, read, organization, now }) {
    const app = await requireApp(read, organization.id, appId);
    const rows = await findOpenDeployments(read, organization.id, appId);
    const current = rows.filter(({ deleted_at }) => deleted_at === null);
    const runs = await findRuns(
      read,
      organization.id,
      current.map(({ id }) => id),
      now,
    );
    // A deployment with ready replicas needs no judgement here: the server that runs it has judged it.
    const idle = current.filter(({ id, is_wanted }) => is_wanted === 1 && (runs.get(id)?.readyReplicas ?? 0) === 0);
    const refusals = new Map<string, string>();
    for (const { id } of idle) {
      const { refusal } = await judgeStored(read, organization.id, id);
      if (refusal !== undefined) refusals.set(id, refusal);
    }
    return {
      appStatus: {
        appId,
        deployments: current.map((row) => {
          const run = runs.get(row.id);
          const provisioningState = provisioningStateOf(app, run);
          const refusalReason = refusals.get(row.id);
          return {
            deploymentId: row.id,
            readyReplicas: run?.readyReplicas ?? 0,
            desiredReplicas: row.replicas,
            lastUpdatedTime: timestampOf(Math.max(run?.since ?? 0, row.updated_at)),
            ...(provisioningState ? { provisioningState } : {}),
            ...(refusalReason === undefined ? {} : { refusalReason }),
          };
        }),
        targetedDeploymentId: app.live_deployment_id ?? "",
      },
    };
  },
});
