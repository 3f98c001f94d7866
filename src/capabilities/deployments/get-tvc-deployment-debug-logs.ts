import { Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id, Timestamp, timestampOf } from "../../engine/fields.ts";
import { fail } from "../../kernel/errors.ts";
import { MAX_LOG_LINES, MAX_SHOWN_LOG_BYTES } from "../../kernel/limits.ts";
import { findRuns, requireDeployment } from "./store.ts";

const Entry = Type.Object({
  line: Type.Object({ content: Type.String(), ts: Timestamp }),
  replicaLabel: Type.String(),
});

export const getTvcDeploymentDebugLogs = query({
  path: "get_tvc_deployment_debug_logs",
  summary: `What the replicas of a deployment in debug mode wrote last, by time: up to ${MAX_LOG_LINES} lines of each since the runner started, of all together the newest ${MAX_SHOWN_LOG_BYTES} bytes, none of what no server runs.`,
  needs: ["deployments"],
  request: Type.Object({
    organizationId: Id,
    deploymentId: Id,
    tailLines: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000_000 })),
    sinceSeconds: Type.Optional(
      Type.String({ pattern: "^[0-9]{0,12}$", description: "a number of seconds in digits" }),
    ),
  }),
  response: Type.Object({ entries: Type.Array(Entry) }),
  async run({ request, read, organization, deployments, now, takeRoom }) {
    const { deploymentId: id, tailLines = 0, sinceSeconds = "" } = request;
    const deployment = await requireDeployment(read, organization.id, id);
    if (deployment.debug_mode === 0) fail("TVC_NOT_IN_DEBUG_MODE", { id });
    const { runner } = deployments;
    const isHere = runner?.replicasOf(id) !== undefined;
    if (!isHere && (await findRuns(read, organization.id, [id], now)).has(id)) {
      fail("TVC_LOGS_UNAVAILABLE", { id, reason: "another server runs it" });
    }
    // In the response, the JSON around each line takes about as much as the line may.
    if (isHere) await takeRoom(2 * MAX_SHOWN_LOG_BYTES);
    const seconds = Number(sinceSeconds);
    const written = isHere ? await runner.logsOf(id, tailLines) : [];
    const entries = written.filter(({ at }) => seconds === 0 || at >= now - seconds * 1000);
    return {
      entries: entries.map(({ replica, content, at }) => ({
        line: { content, ts: timestampOf(at) },
        replicaLabel: `replica ${replica}/${deployment.replicas}`,
      })),
    };
  },
});
