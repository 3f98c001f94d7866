import { ECDH } from "node:crypto";
import secp256k1 from "secp256k1";

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
