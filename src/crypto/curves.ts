import { createECDH, ECDH } from "node:crypto";
import { p256 } from "@noble/curves/nist.js";
import { secp256k1 } from "./secp256k1.ts";

export type Curve = "CURVE_SECP256K1" | "CURVE_ED25519" | "CURVE_P256";
/** The curves whose public keys have a compressed and an uncompressed form (SEC 1, section 2.3.3). */
export type WeierstrassCurve = Exclude<Curve, "CURVE_ED25519">;

const COMPRESSED_LENGTH = 33;

/**
 * The 65-byte form `04 ‖ X ‖ Y` of a 33-byte compressed public key.
 *
 * @throws Error for bytes of another length and for a point that is not on the curve
 */
export function decompressPublicKey(curve: WeierstrassCurve, publicKey: Uint8Array): Uint8Array {
  if (publicKey.length !== COMPRESSED_LENGTH) throw new RangeError("a compressed public key has 33 bytes");
  if (curve === "CURVE_SECP256K1") return secp256k1.publicKeyConvert(publicKey, false);
  return new Uint8Array(ECDH.convertKey(publicKey, "prime256v1", undefined, undefined, "uncompressed") as Buffer);
}

/** Whether 32 bytes are a secret of the curve: a number from 1 to the order of its group minus 1. */
export function isSecretInRange(curve: WeierstrassCurve, secret: Uint8Array): boolean {
  return curve === "CURVE_SECP256K1" ? secp256k1.privateKeyVerify(secret) : p256.utils.isValidSecretKey(secret);
}

/**
 * The 33-byte compressed public key of a secret.
 *
 * @throws Error if `isSecretInRange` is false
 */
export function compressedPublicKey(curve: WeierstrassCurve, secret: Uint8Array): Uint8Array {
  if (curve === "CURVE_SECP256K1") return secp256k1.publicKeyCreate(secret, true);
  const pair = createECDH("prime256v1");
  pair.setPrivateKey(secret);
  return pair.getPublicKey(null, "compressed");
}
