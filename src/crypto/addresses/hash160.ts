import { ripemd160 } from "@noble/hashes/legacy.js";
import { sha256 } from "@noble/hashes/sha2.js";

/** `RIPEMD160(SHA256(bytes))`, 20 bytes: what Bitcoin and the chains after it name public keys by. */
export function hash160(bytes: Uint8Array): Uint8Array {
  return ripemd160(sha256(bytes));
}
