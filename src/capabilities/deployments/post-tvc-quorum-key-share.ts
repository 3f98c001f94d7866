import { Type } from "typebox";
import { verifyApproval } from "../../crypto/manifests/approvals.ts";
import { QUORUM_SEED_BYTES } from "../../crypto/manifests/quorum-keys.ts";
import { quorumEnvelopeBytes } from "../../crypto/quorum-encryption.ts";
import { shareBytes } from "../../crypto/secret-sharing.ts";
import { activity } from "../../engine/declare.ts";
import { Id, Strict } from "../../engine/fields.ts";
import { fail } from "../../kernel/errors.ts";
import { Point } from "./model.ts";
import { requireOperator } from "./operators.ts";
import { addShare, requireAwaiting, requireShare } from "./provisioning.ts";

const SHARE_DIGITS = 2 * quorumEnvelopeBytes(shareBytes(QUORUM_SEED_BYTES));
const BUNDLE = "parameters.shareApprovalBundle";

export const postTvcQuorumKeyShare = activity({
  path: "post_tvc_quorum_key_share",
  summary:
    "Submit an operator's share of the app's quorum key for a deployment, encrypted to the key of its runner, with the operator's approval of the manifest. It replaces what the operator submitted before.",
  intent: Strict({
    deploymentId: Id,
    ephemeralPublicKeyHex: Point,
    shareApprovalBundle: Strict({
      operatorId: Id,
      reEncryptedShareHex: Type.String({
        pattern: `^[0-9a-fA-F]{${SHARE_DIGITS}}$`,
        description: `a share in the envelope that it is encrypted in: ${SHARE_DIGITS} hex digits`,
      }),
      signature: Type.String({
        pattern: "^[0-9a-fA-F]{128}$",
        description: "an ECDSA signature over the manifest's hash, r || s: 128 hex digits",
      }),
    }),
  }),
  result: Type.Object({ provisioningShareId: Type.String() }),
  subject: () => ({ governedBy: "policies", resource: "TVC_DEPLOYMENT", action: "UPDATE" }),
  async run({ intent, tx, organization: { id: organizationId }, id, now }) {
    const { operatorId, reEncryptedShareHex, signature } = intent.shareApprovalBundle;
    const awaiting = await requireAwaiting(tx, organizationId, intent.deploymentId, now);
    const { app, sets, asked } = awaiting;
    const refuse = (field: string, reason: string) => fail("TVC_SHARE_REFUSED", { field, reason });
    if (intent.ephemeralPublicKeyHex !== asked.ephemeralPublicKey) {
      refuse(
        "parameters.ephemeralPublicKeyHex",
        "is not the key of the deployment's runner, which has a new one after each start; get_tvc_deployment_provisioning_details shows it",
      );
    }
    const operator = sets.shareSet.operators.find(({ id }) => id === operatorId);
    if (!operator) {
      await requireOperator(tx, organizationId, operatorId);
      return refuse(`${BUNDLE}.operatorId`, "names an operator who is not in the share set of the app");
    }
    await requireShare(tx, app, operator, `${BUNDLE}.operatorId`);
    if (!verifyApproval(Buffer.from(asked.manifestHash, "hex"), operator.public_key, signature)) {
      const reason = `is not the operator's signature over the manifest's hash ${asked.manifestHash} (ECDSA over its 32 bytes with SHA-256, r || s)`;
      refuse(`${BUNDLE}.signature`, reason);
    }
    const provisioningShareId = id("share");
    const given = {
      id: provisioningShareId,
      share: reEncryptedShareHex.toLowerCase(),
      signature: signature.toLowerCase(),
    };
    await addShare(tx, awaiting, operator, given, now);
    return { provisioningShareId };
  },
});
