import { capability } from "../../engine/capability.ts";
import { cleanUpDeployment } from "./clean-up.ts";
import { createTvcApp } from "./create-tvc-app.ts";
import { createTvcDeployment } from "./create-tvc-deployment.ts";
import { createTvcManifestApprovals } from "./create-tvc-manifest-approvals.ts";
import { createTvcOperator } from "./create-tvc-operator.ts";
import { createTvcQuorumKey } from "./create-tvc-quorum-key.ts";
import { deleteTvcAppAndDeployments } from "./delete-tvc-app-and-deployments.ts";
import { deleteTvcDeployment } from "./delete-tvc-deployment.ts";
import { getAppStatus } from "./get-app-status.ts";
import { getTvcApp } from "./get-tvc-app.ts";
import { getTvcDeployment } from "./get-tvc-deployment.ts";
import { getTvcDeploymentDebugLogs } from "./get-tvc-deployment-debug-logs.ts";
import { getTvcDeploymentProvisioningDetails } from "./get-tvc-deployment-provisioning-details.ts";
import { getTvcQosVersions } from "./get-tvc-qos-versions.ts";
import { listTvcAppDeployments } from "./list-tvc-app-deployments.ts";
import { listTvcApps } from "./list-tvc-apps.ts";
import { listTvcOperators } from "./list-tvc-operators.ts";
import { listTvcQuorumKeys } from "./list-tvc-quorum-keys.ts";
import { postTvcQuorumKeyShare } from "./post-tvc-quorum-key-share.ts";
import { pullSecretKey } from "./pull-secrets.ts";
import { reEncryptTvcQuorumKeyShare } from "./re-encrypt-tvc-quorum-key-share.ts";
import { restoreTvcDeployment } from "./restore-tvc-deployment.ts";
import { setTvcAppLiveDeployment } from "./set-tvc-app-live-deployment.ts";
import { validateTvcImage } from "./validate-tvc-image.ts";

export { Ingress } from "./ingress.ts";
export { Keeper } from "./keeper.ts";

/** Deployments: programs that run once their operators have approved them. */
export const deployments = capability({
  title: "Verifiable deployments",
  operations: [
    createTvcApp,
    createTvcOperator,
    createTvcQuorumKey,
    createTvcDeployment,
    createTvcManifestApprovals,
    postTvcQuorumKeyShare,
    reEncryptTvcQuorumKeyShare,
    setTvcAppLiveDeployment,
    deleteTvcDeployment,
    restoreTvcDeployment,
    deleteTvcAppAndDeployments,
    listTvcApps,
    getTvcApp,
    getAppStatus,
    listTvcAppDeployments,
    getTvcDeployment,
    getTvcDeploymentDebugLogs,
    getTvcDeploymentProvisioningDetails,
    listTvcOperators,
    listTvcQuorumKeys,
    getTvcQosVersions,
    validateTvcImage,
  ],
  jobs: [cleanUpDeployment],
  serviceKeys: [pullSecretKey],
  erases: [
    "tvc_runs",
    "tvc_provisioning_shares",
    "tvc_quorum_key_shares",
    "tvc_quorum_keys",
    "tvc_manifest_approvals",
    "tvc_deployments",
    "tvc_apps",
    "tvc_operator_set_members",
    "tvc_operator_sets",
    "tvc_operators",
  ],
});
