import { secp256k1 } from "./secp256k1.ts";

/**
 * The 33-byte compressed secp256k1 public key that made this signature (SEC 1, section 4.1.6).
 *
 * @param signature 64 bytes r ‖ s
 * @returns undefined if r or s is out of range, or no key matches
 */
export function recoverPublicKey(digest: Uint8Array, signature: Uint8Array, recovery: 0 | 1): Uint8Array | undefined {
  try {
    return secp256k1.ecdsaRecover(signature, recovery, digest, true);
  } catch {
    return undefined;
  }
}
