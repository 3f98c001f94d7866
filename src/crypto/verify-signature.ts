import { type KeyObject, type VerifyKeyObjectInput, verify } from "node:crypto";

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
