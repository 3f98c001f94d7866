import { createPublicKey, type KeyObject, type VerifyKeyObjectInput, verify } from "node:crypto";
import { decompressPublicKey } from "./curves.ts";

/**
 * `crypto.verify` on a thread of the pool, so that it does not block the event loop.
 *
 * @param hash digest name, or null for Ed25519
 * @returns false for a wrong signature and for any error; never rejects
 */
export function verifySignature(
  hash: "sha256" | null,
  data: Uint8Array,
  key: KeyObject | VerifyKeyObjectInput,
  signature: Uint8Array,
): Promise<boolean> {
  return new Promise((resolve) => {
    try {
      verify(hash, data, key, signature, isValid(resolve));
    } catch {
      resolve(false);
    }
  });
}

/**
 * The callback of `crypto.verify`, in a scope of its own: Node keeps callbacks in memory until the next full collection, and with them all
 * that closures of the same scope use, such as the data.
 */
const isValid =
  (resolve: (isValid: boolean) => void) =>
  (error: Error | null, valid: boolean): void =>
    resolve(!error && valid);

/**
 * A P-256 key as a JSON Web Key (RFC 7518, section 6.2).
 *
 * @param publicKey hex, compressed
 * @throws if it is not a point of the curve
 */
export function p256Jwk(publicKey: string): { kty: "EC"; crv: "P-256"; x: string; y: string } {
  const point = Buffer.from(decompressPublicKey("CURVE_P256", Buffer.from(publicKey, "hex")));
  const [x, y] = [point.subarray(1, 33), point.subarray(33)] as const;
  return { kty: "EC", crv: "P-256", x: x.toString("base64url"), y: y.toString("base64url") };
}

/** The same key for verifying raw signatures, r || s. */
export const p256VerificationKey = (publicKey: string): { key: KeyObject; dsaEncoding: "ieee-p1363" } => ({
  key: createPublicKey({ key: p256Jwk(publicKey), format: "jwk" }),
  dsaEncoding: "ieee-p1363",
});
