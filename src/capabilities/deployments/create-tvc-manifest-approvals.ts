import { Type } from "typebox";
import { verifyApproval } from "../../crypto/manifests/approvals.ts";
import { manifestHash, parseManifest } from "../../crypto/manifests/manifest.ts";
import { activity } from "../../engine/declare.ts";
import { Id, SomeOf, Strict } from "../../engine/fields.ts";
import { fail } from "../../kernel/errors.ts";
import { MAX_TVC_OPERATORS_OF_SET } from "../../kernel/limits.ts";
import type { Reader } from "../../storage/engine.ts";
import { requireOperator, signersOf } from "./operators.ts";
import { type DeploymentRow, findApprovals, requireOpenApp, setsOf, updateApp, updateDeployment } from "./store.ts";

const Approval = Strict({
  operatorId: Id,
  signature: Type.String({
    pattern: "^[0-9a-fA-F]{128}$",
    description: "an ECDSA signature over the manifest's hash, r || s: 128 hex digits",
  }),
});

export const createTvcManifestApprovals = activity({
  path: "create_tvc_manifest_approvals",
  summary:
    "Submit operators' signatures over the hash of a manifest. Once there are enough, the deployment runs. The first deployment of an app becomes its live one.",
  intent: Strict({ manifestId: Id, approvals: SomeOf(Approval, MAX_TVC_OPERATORS_OF_SET) }),
  result: Type.Object({ approvalIds: Type.Array(Type.String()) }),
  subject: () => ({ governedBy: "policies", resource: "TVC_DEPLOYMENT", action: "UPDATE" }),
  async run({ intent: { manifestId, approvals }, tx, organization: { id: organizationId }, id, now }) {
    const deployment = await requireByManifest(tx, organizationId, manifestId);
    const app = await requireOpenApp(tx, organizationId, deployment.app_id);
    if (deployment.deleted_at !== null) fail("TVC_DEPLOYMENT_DELETED", { id: deployment.id });
    const { manifestSet } = (await setsOf(tx, organizationId, [app]))(app);
    const known = await findApprovals(tx, organizationId, [deployment.id]);
    const approved = new Set(known.map(({ operator_id }) => operator_id));
    const members = new Map(manifestSet.operators.map((operator) => [operator.id, operator]));
    for (const { operatorId } of approvals) {
      if (!members.has(operatorId)) await requireOperator(tx, organizationId, operatorId);
    }
    const hash = manifestHash(parseManifest(Buffer.from(deployment.manifest)));
    const rows = approvals.map(({ operatorId, signature }, index) => {
      const refuse = (field: string, reason: string) =>
        fail("TVC_APPROVAL_INVALID", { field: `parameters.approvals.${index}.${field}`, reason });
      const operator = members.get(operatorId);
      if (!operator) return refuse("operatorId", "the operator is not in the manifest set of the app");
      if (approved.has(operatorId)) return refuse("operatorId", "the operator has already approved it");
      if (!verifyApproval(hash, operator.public_key, signature)) {
        return refuse(
          "signature",
          `the operator's signing key did not sign the manifest's hash ${hash.toString("hex")} (ECDSA over its 32 bytes with SHA-256, r || s)`,
        );
      }
      approved.add(operatorId);
      return {
        id: id(`approvals.${index}`),
        organization_id: organizationId,
        deployment_id: deployment.id,
        operator_id: operatorId,
        signature: signature.toLowerCase(),
        created_at: now,
        updated_at: now,
      };
    });
    await tx.insertInto("tvc_manifest_approvals").values(rows).execute();
    const signers = signersOf(manifestSet.operators.filter(({ id }) => approved.has(id)));
    if (signers.size >= manifestSet.threshold && deployment.approved_at === null) {
      await updateDeployment(tx, deployment, { approved_at: now, is_wanted: 1, updated_at: now });
      if (app.live_deployment_id === null) {
        await updateApp(tx, app, { live_deployment_id: deployment.id, updated_at: now });
      }
    }
    return { approvalIds: rows.map(({ id }) => id) };
  },
});

async function requireByManifest(read: Reader, organizationId: string, manifestId: string): Promise<DeploymentRow> {
  const row = await read
    .selectFrom("tvc_deployments")
    .selectAll()
    .where("organization_id", "=", organizationId)
    .where("manifest_id", "=", manifestId)
    .executeTakeFirst();
  return row ?? fail("RESOURCE_NOT_FOUND", { kind: "TVC manifest", id: manifestId, organizationId });
}
