import { sha256 } from "@noble/hashes/sha2.js";
import { concatBytes } from "@noble/hashes/utils.js";
import { base58 } from "@scure/base";

/** `version ‖ payload ‖ first four bytes of SHA256(SHA256(version ‖ payload))` in the alphabet of Bitcoin or another. */
export function base58check(version: number, payload: Uint8Array, alphabet = base58): string {
  const versioned = concatBytes(Uint8Array.of(version), payload);
  return alphabet.encode(concatBytes(versioned, sha256(sha256(versioned)).subarray(0, 4)));
}
