import { createPublicKey, type KeyObject, type VerifyKeyObjectInput, verify } from "node:crypto";
import { decompressPublicKey } from "./curves.ts";

/**
 * `crypto.verify` on a thread of the pool, so that the event loop does not wait for it.
 *
 * @param hash digest name, or null for Ed25519
 * @returns false for a wrong signature and for any failure; never rejects
 */
export function verifySignature(
  hash: "sha256" | null,
  data: Uint8Array,
  key: KeyObject | VerifyKeyObjectInput,
  signature: Uint8Array,
): Promise<boolean> {
  return new Promise((resolve) => {
    try {
      verify(hash, data, key, signature, (error, valid) => resolve(!error && valid));
    } catch {
      resolve(false);
    }
  });
}

/**
 * A P-256 key to verify raw signatures with, r || s.
 *
 * @param publicKey hex, compressed
 * @throws for what is no point of the curve
 */
export function p256VerificationKey(publicKey: string): { key: KeyObject; dsaEncoding: "ieee-p1363" } {
  const point = Buffer.from(decompressPublicKey("CURVE_P256", Buffer.from(publicKey, "hex")));
  const x = point.subarray(1, 33).toString("base64url");
  const y = point.subarray(33).toString("base64url");
  return { key: createPublicKey({ key: { kty: "EC", crv: "P-256", x, y }, format: "jwk" }), dsaEncoding: "ieee-p1363" };
}
