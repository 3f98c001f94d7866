import { Type } from "typebox";
import { ONLY_ELSEWHERE, refuseExcess } from "../../authority/quotas.ts";
import { activity } from "../../engine/declare.ts";
import { enforceQuota } from "../../engine/fixed-quotas.ts";
import { fail } from "../../kernel/errors.ts";
import { MAX_PIVOT_ARGS_BYTES, MAX_TVC_DEPLOYMENTS, MAX_TVC_DEPLOYMENTS_EVER } from "../../kernel/limits.ts";
import { resolveImage } from "./images.ts";
import { checkImage, DeploymentParams } from "./model.ts";
import { openPullSecret, sealPullSecret } from "./pull-secrets.ts";
import { findOpenDeployments, manifestFor, pivotDigestOf, requireOpenApp, setsOf } from "./store.ts";

const DEFAULT_REPLICAS = 3;

export const createTvcDeployment = activity({
  path: "create_tvc_deployment",
  summary:
    "Create a deployment: a manifest of the program in an image that runs, with its arguments and settings, for the operators of an app to approve.",
  needs: ["deployments"],
  asks: ["openPullSecret", "sealJobSecret"],
  intent: DeploymentParams,
  result: Type.Object({ deploymentId: Type.String(), manifestId: Type.String() }),
  subject: () => ({ governedBy: "policies", resource: "TVC_DEPLOYMENT", action: "CREATE" }),
  check({ qosVersion, pivotContainerImageUrl, pivotArgs }, { deployments: { qosVersions } }) {
    checkImage(pivotContainerImageUrl, "parameters.pivotContainerImageUrl");
    if (Buffer.byteLength(JSON.stringify(pivotArgs)) > MAX_PIVOT_ARGS_BYTES) {
      const reason = `must have at most ${MAX_PIVOT_ARGS_BYTES} bytes in total, as JSON`;
      fail("FIELD_INVALID", { field: "parameters.pivotArgs", reason });
    }
    if (qosVersions.includes(qosVersion)) return;
    fail("FIELD_INVALID", { field: "parameters.qosVersion", reason: `must be one of ${qosVersions.join(", ")}` });
  },
  async prepare({ intent, read, organization, signer, now, deployments }) {
    const app = await requireOpenApp(read, organization.id, intent.appId);
    if (intent.debugMode && app.enable_debug === 0) fail("TVC_DEBUG_MODE_REFUSED", { id: app.id });
    const { pivotContainerImageUrl: image, pivotContainerEncryptedPullSecret: envelope } = intent;
    const context = { read, signer, organization, now };
    const credential = await openPullSecret(context, image, envelope, "parameters.pivotContainerEncryptedPullSecret");
    const imageDigest = await resolveImage(
      deployments,
      organization,
      image,
      "parameters.pivotContainerImageUrl",
      credential,
    );
    return { imageDigest, sealed: credential && (await sealPullSecret({ read, signer }, image, credential)) };
  },
  async run({ intent, tx, organization: { id: organizationId }, id, now, prepared: { imageDigest, sealed } }) {
    const app = await requireOpenApp(tx, organizationId, intent.appId);
    const { debugMode = false, replicas = debugMode ? 1 : DEFAULT_REPLICAS } = intent;
    const [deploymentId, manifestId] = [id("deployment"), id("manifest")];
    await tx
      .insertInto("tvc_deployments")
      .values({
        id: deploymentId,
        organization_id: organizationId,
        app_id: app.id,
        manifest_id: manifestId,
        manifest: manifestFor(app, intent, (await setsOf(tx, organizationId, [app]))(app), now),
        qos_version: intent.qosVersion,
        image_url: intent.pivotContainerImageUrl,
        image_digest: imageDigest,
        sealed_pull_secret: sealed ?? null,
        pivot_path: intent.pivotPath,
        pivot_args: JSON.stringify(intent.pivotArgs),
        pivot_digest: pivotDigestOf(intent),
        debug_mode: Number(debugMode),
        health_check_type: intent.healthCheckType,
        health_check_port: intent.healthCheckPort,
        public_ingress_port: intent.publicIngressPort,
        replicas,
        approved_at: null,
        deleted_at: null,
        cleaned_up_at: null,
        is_wanted: 0,
        created_at: now,
        updated_at: now,
      })
      .execute();
    refuseExcess((await findOpenDeployments(tx, organizationId, app.id)).length, {
      kind: "deployments of one app that are not cleaned up",
      limit: MAX_TVC_DEPLOYMENTS,
      remedy: "delete some, and wait until they are cleaned up",
    });
    await enforceQuota(
      tx,
      {
        table: "tvc_deployments",
        kind: "TVC deployments in all",
        limit: MAX_TVC_DEPLOYMENTS_EVER,
        remedy: ONLY_ELSEWHERE,
      },
      { organization_id: organizationId },
    );
    return { deploymentId, manifestId };
  },
});
