import { Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id, OneOf } from "../../engine/fields.ts";
import { provisioningStates } from "./model.ts";
import { findShares, provisioningStateOf } from "./provisioning.ts";
import {
  type DeploymentRow,
  findApprovals,
  findRuns,
  requireApp,
  requireDeployment,
  type Sets,
  setsOf,
} from "./store.ts";

export const getTvcDeploymentProvisioningDetails = query({
  path: "get_tvc_deployment_provisioning_details",
  summary:
    "Get whether a deployment has the quorum key of its app. If it is waiting for shares, also get the document about the key to encrypt them to, and the manifest with its approvals. There is no state for an app whose quorum key was not created here.",
  request: Type.Object({ organizationId: Id, deploymentId: Id }),
  response: Type.Object({
    /** Base64 of JSON. */
    attestationDocument: Type.Optional(Type.String()),
    /** Base64 of JSON. */
    manifestEnvelope: Type.Optional(Type.String()),
    provisioningState: Type.Optional(OneOf(provisioningStates)),
  }),
  async run({ request: { deploymentId }, read, organization: { id: organizationId }, now, takeRoom }) {
    const deployment = await requireDeployment(read, organizationId, deploymentId);
    const app = await requireApp(read, organizationId, deployment.app_id);
    const run = (await findRuns(read, organizationId, [deploymentId], now)).get(deploymentId);
    const provisioningState = provisioningStateOf(app, run);
    if (provisioningState === undefined) return {};
    if (provisioningState !== "PROVISIONING_STATE_AWAITING_PROVISION") return { provisioningState };
    // Each member may have approved, and each approval repeats the member with its keys.
    await takeRoom(4 * deployment.manifest.length);
    const document = run?.provisioning ?? "";
    const { ephemeralPublicKey } = JSON.parse(document) as { ephemeralPublicKey: string };
    const sets = (await setsOf(read, organizationId, [app]))(app);
    const envelope = envelopeOf(deployment, {
      manifestSetApprovals: approvalsBy(sets, await findApprovals(read, organizationId, [deploymentId])),
      shareSetApprovals: approvalsBy(
        sets,
        await findShares(read, { organizationId, deploymentId }, ephemeralPublicKey),
      ),
    });
    const inBase64 = (text: string) => Buffer.from(text).toString("base64");
    return { provisioningState, attestationDocument: inBase64(document), manifestEnvelope: inBase64(envelope) };
  },
});

interface ShownApproval {
  signature: string;
  member: { alias: string; pubKey: string };
}

const approvalsBy = (
  { manifestSet, shareSet }: Sets,
  rows: readonly { operator_id: string; signature: string }[],
): ShownApproval[] =>
  rows.flatMap(({ operator_id, signature }) => {
    const operator = [...manifestSet.operators, ...shareSet.operators].find(({ id }) => id === operator_id);
    return operator ? [{ signature, member: { alias: operator.name, pubKey: operator.public_key } }] : [];
  });

/** The envelope that `keystead tvc verify` reads. It contains the manifest byte for byte. */
const envelopeOf = (
  { manifest }: Pick<DeploymentRow, "manifest">,
  approvals: { manifestSetApprovals: ShownApproval[]; shareSetApprovals: ShownApproval[] },
): string => `{"manifest":${manifest},${JSON.stringify(approvals).slice(1)}`;
