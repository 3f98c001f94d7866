import { verify } from "node:crypto";
import { canonicalJson } from "../../kernel/json.ts";
import { parseJsonOr } from "../json-object.ts";
import { p256VerificationKey } from "../verify-signature.ts";

/**
 * Replaces the attestation document of an enclave: the installation states which key a deployment's runner made to receive shares of the
 * quorum key. It attests no hardware and no code.
 */

export interface Provisioning {
  deploymentId: string;
  /** Hex. */
  manifestHash: string;
  /** An uncompressed point of P-256, hex, lowercase. */
  ephemeralPublicKey: string;
}

/** The text that the installation signs. */
export const provisioningText = ({ deploymentId, manifestHash, ephemeralPublicKey }: Provisioning): string =>
  canonicalJson({ type: "KEYSTEAD_DEPLOYMENT_PROVISIONING", deploymentId, manifestHash, ephemeralPublicKey });

/**
 * The document, JSON.
 *
 * @param publicKey of the installation, a compressed point of P-256, hex
 * @param signature r || s, hex, over the SHA-256 of the text
 */
export const provisioningDocument = (provisioning: Provisioning, publicKey: string, signature: string): string =>
  canonicalJson({ ...provisioning, publicKey, signature });

/** The content of a document, if it is signed by one of these keys; otherwise undefined. */
export function readProvisioning(document: Uint8Array, publicKeys: readonly string[]): Provisioning | undefined {
  const value = parseJsonOr(document, () => undefined);
  if (typeof value !== "object" || value === null) return undefined;
  const { deploymentId, manifestHash, ephemeralPublicKey, publicKey, signature } = value as Record<string, unknown>;
  const texts = [deploymentId, manifestHash, ephemeralPublicKey, publicKey, signature];
  if (!texts.every((text) => typeof text === "string")) return undefined;
  const [id, hash, key, signer, signed] = texts as [string, string, string, string, string];
  if (!publicKeys.includes(signer) || !/^[0-9a-f]{128}$/.test(signed)) return undefined;
  const provisioning = { deploymentId: id, manifestHash: hash, ephemeralPublicKey: key };
  const text = Buffer.from(provisioningText(provisioning));
  return verify("sha256", text, p256VerificationKey(signer), Buffer.from(signed, "hex")) ? provisioning : undefined;
}
