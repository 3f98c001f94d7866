import { Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id } from "../../engine/fields.ts";

export const getTvcQosVersions = query({
  path: "get_tvc_qos_versions",
  summary: "List the versions that `qosVersion` of a new deployment may name, and which of them is the newest.",
  needs: ["deployments"],
  request: Type.Object({ organizationId: Id }),
  response: Type.Object({ availableVersions: Type.Array(Type.String()), latestVersion: Type.String() }),
  run: async ({ deployments: { qosVersions } }) => ({
    availableVersions: [...qosVersions],
    latestVersion: qosVersions[0] as string,
  }),
});
