import { sha256 } from "@noble/hashes/sha2.js";
import { concatBytes } from "@noble/hashes/utils.js";
import { base58 } from "@scure/base";

const CHECKSUM_BYTES = 4;

/** `version ‖ payload ‖ first four bytes of SHA256(SHA256(version ‖ payload))` in Bitcoin's alphabet or another one. */
export function base58check(version: number, payload: Uint8Array, alphabet = base58): string {
  const versioned = concatBytes(Uint8Array.of(version), payload);
  return alphabet.encode(concatBytes(versioned, sha256(sha256(versioned)).subarray(0, CHECKSUM_BYTES)));
}

/** The `version ‖ payload` of such a text; undefined for any other. The time is quadratic in the length, so limit the length first. */
export function openBase58check(text: string): Uint8Array | undefined {
  let bytes: Uint8Array;
  try {
    bytes = base58.decode(text);
  } catch {
    return undefined;
  }
  const versioned = bytes.subarray(0, -CHECKSUM_BYTES);
  const checksum = sha256(sha256(versioned)).subarray(0, CHECKSUM_BYTES);
  return checksum.every((byte, index) => byte === bytes[versioned.length + index]) ? versioned : undefined;
}
