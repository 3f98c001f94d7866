import { Type } from "typebox";
import { job } from "../../engine/jobs/jobs.ts";

export const CLEAN_UP_DEPLOYMENT = "clean_up_tvc_deployment";

/**
 * Cleans up a deployment that was deleted and not restored in time. Its record stays, without the pull secret. A deployment that was restored
 * meanwhile is left alone; if it was deleted again, that deletion has its own job.
 */
export const cleanUpDeployment = job({
  name: CLEAN_UP_DEPLOYMENT,
  payload: Type.Object({ organizationId: Type.String(), deploymentId: Type.String(), deletedAt: Type.Integer() }),
  async run({ payload: { organizationId, deploymentId, deletedAt }, clock }) {
    return {
      next: { do: "finish" },
      record: async (tx) => {
        await tx
          .updateTable("tvc_deployments")
          .set({ cleaned_up_at: clock(), sealed_pull_secret: null, updated_at: clock() })
          .where("organization_id", "=", organizationId)
          .where("id", "=", deploymentId)
          .where("deleted_at", "=", deletedAt)
          .where("cleaned_up_at", "is", null)
          .execute();
      },
    };
  },
});
