import { Type } from "typebox";
import { activity } from "../../engine/declare.ts";
import { Id, Strict } from "../../engine/fields.ts";
import { fail } from "../../kernel/errors.ts";
import { requireDeployment, requireOpenApp, updateDeployment } from "./store.ts";

export const restoreTvcDeployment = activity({
  path: "restore_tvc_deployment",
  summary: "Restore a deleted deployment that was not cleaned up yet. It runs again if its manifest is approved.",
  intent: Strict({ deploymentId: Id }),
  result: Type.Object({ deploymentId: Type.String() }),
  subject: () => ({ governedBy: "policies", resource: "TVC_DEPLOYMENT", action: "UPDATE" }),
  async run({ intent: { deploymentId: id }, tx, organization: { id: organizationId }, now }) {
    const deployment = await requireDeployment(tx, organizationId, id);
    if (deployment.cleaned_up_at !== null) fail("TVC_DEPLOYMENT_CLEANED_UP", { id });
    await requireOpenApp(tx, organizationId, deployment.app_id);
    if (deployment.deleted_at === null) fail("TVC_DEPLOYMENT_NOT_DELETED", { id });
    // The pending clean-up will then find no deletion, or a later one, and do nothing.
    const isWanted = Number(deployment.approved_at !== null);
    await updateDeployment(tx, deployment, { deleted_at: null, is_wanted: isWanted, updated_at: now });
    return { deploymentId: id };
  },
});
