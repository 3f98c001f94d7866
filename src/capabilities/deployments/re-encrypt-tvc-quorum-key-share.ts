import { Type } from "typebox";
import { activity } from "../../engine/declare.ts";
import { Id, Strict } from "../../engine/fields.ts";
import { keyOwnerOf } from "../../engine/keys/key-owner.ts";
import { publishedKeyReferences } from "../../engine/keys/service-keys.ts";
import { bootKey } from "../../engine/proofs/boot-proofs.ts";
import { fail } from "../../kernel/errors.ts";
import { MAX_SHOWN_MANIFEST_DIGITS, MAX_SHOWN_PROVISIONING_DIGITS } from "../../kernel/limits.ts";
import type { KeyReference } from "../../signer/protocol.ts";
import type { Reader } from "../../storage/engine.ts";
import { lookUpSigningKey } from "../signing/store.ts";
import { KeyPair, Point } from "./model.ts";
import type { OperatorRow } from "./operators.ts";
import { type AwaitedProvisioning, addShare, requireAwaiting, requireShare } from "./provisioning.ts";

const refuse = (field: string, reason: string): never =>
  fail("TVC_SHARE_REFUSED", { field: `parameters.${field}`, reason });

export const reEncryptTvcQuorumKeyShare = activity({
  path: "re_encrypt_tvc_quorum_key_share",
  summary:
    "The same for an operator whose keys are accounts of a wallet here: the share is opened, encrypted to the key of the deployment's runner and handed in, and the manifest approved.",
  asks: ["reEncryptQuorumShare"],
  intent: Strict({
    attestationDocB64: Type.String({ minLength: 1, maxLength: MAX_SHOWN_PROVISIONING_DIGITS }),
    manifestB64: Type.String({ minLength: 1, maxLength: MAX_SHOWN_MANIFEST_DIGITS }),
    operatorEncryptKey: Point,
    operatorSignKey: Point,
    deploymentId: Id,
    appQuorumKey: KeyPair,
  }),
  result: Type.Object({ provisioningShareId: Type.String() }),
  subject: () => ({ governedBy: "policies", resource: "TVC_QUORUM_KEY", action: "ENCRYPT" }),
  async prepare({ intent, read, organization, signer, now }) {
    const { deploymentId, attestationDocB64, manifestB64, operatorEncryptKey, operatorSignKey } = intent;
    const awaiting = await requireAwaiting(read, organization.id, deploymentId, now);
    const { app, deployment, document } = awaiting;
    const inBase64 = (text: string) => Buffer.from(text).toString("base64");
    if (intent.appQuorumKey.toLowerCase() !== app.quorum_public_key) {
      refuse("appQuorumKey", "is not the quorum key of the deployment's app");
    }
    if (manifestB64 !== inBase64(deployment.manifest)) refuse("manifestB64", "is not the deployment's manifest");
    if (attestationDocB64 !== inBase64(document)) refuse("attestationDocB64", NOT_CURRENT);
    const operator = holderOf(awaiting, operatorEncryptKey, operatorSignKey);
    const answer = await signer.ask({
      verb: "reEncryptQuorumShare",
      ...keyOwnerOf(organization),
      encryptKey: await requireAccount(read, organization.id, operatorEncryptKey, "operatorEncryptKey"),
      signKey: await requireAccount(read, organization.id, operatorSignKey, "operatorSignKey"),
      ...(await requireShare(read, app, operator, "parameters.operatorEncryptKey")),
      deploymentId,
      attestationDocB64,
      manifestB64,
      ...(await publishedKeyReferences(read, bootKey, now)),
    });
    if (!("problem" in answer)) return { operator, ...answer };
    if (answer.problem === "unstated")
      return refuse("attestationDocB64", "was not signed by this installation for the manifest");
    return refuse("operatorEncryptKey", "does not open the operator's share");
  },
  async run({ intent: { deploymentId }, tx, organization, id, now, prepared }) {
    const { operator, ephemeralPublicKey, reEncryptedShare: share, signature } = prepared;
    const awaiting = await requireAwaiting(tx, organization.id, deploymentId, now);
    // The runner may have restarted since, with a new key.
    if (awaiting.asked.ephemeralPublicKey !== ephemeralPublicKey) refuse("attestationDocB64", NOT_CURRENT);
    const provisioningShareId = id("share");
    await addShare(tx, awaiting, operator, { id: provisioningShareId, share, signature }, now);
    return { provisioningShareId };
  },
});

const NOT_CURRENT =
  "is not the current document of the deployment's runner, which has a new one after each start; get_tvc_deployment_provisioning_details shows it";

function holderOf({ sets }: AwaitedProvisioning, encryptKey: string, signKey: string): OperatorRow {
  const operator = sets.shareSet.operators.find(({ public_key }) => public_key === encryptKey + signKey);
  if (!operator)
    return refuse(
      "operatorEncryptKey",
      "and `operatorSignKey` are not those of an operator in the share set of the app",
    );
  return operator;
}

async function requireAccount(
  read: Reader,
  organizationId: string,
  address: string,
  field: string,
): Promise<KeyReference> {
  const key = await lookUpSigningKey(read, organizationId, address);
  if (key?.reference.kind === "walletAccount" && key.curve === "CURVE_P256") return key.reference;
  return refuse(
    field,
    "is not an account of a wallet here; an operator with keys elsewhere must open the share there and use post_tvc_quorum_key_share",
  );
}
