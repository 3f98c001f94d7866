import { keccak_256 } from "@noble/hashes/sha3.js";
import { toHex } from "../../kernel/bytes.ts";
import { decompressPublicKey } from "../curves.ts";
import { base58check } from "./base58check.ts";

const TRON_MAINNET = 0x41;

/** The account in the mixed case that is a checksum (EIP-55). */
export const ethereumAddress = (publicKey: Uint8Array): string => withChecksum(`0x${toHex(account(publicKey))}`);

/** The same for an existing address: 0x and 40 hex digits in any case. */
export function withChecksum(address: string): string {
  const digits = address.slice(2).toLowerCase();
  const checksum = toHex(keccak_256(Buffer.from(digits)));
  return `0x${digits.replace(/[a-f]/g, (digit, at: number) => (checksum.charAt(at) >= "8" ? digit.toUpperCase() : digit))}`;
}

/** The same account in base58 with a checksum and the network's prefix. */
export function tronAddress(publicKey: Uint8Array): string {
  return base58check(TRON_MAINNET, account(publicKey));
}

/** The last 20 bytes of `keccak256(X ‖ Y)`. */
function account(publicKey: Uint8Array): Uint8Array {
  return keccak_256(decompressPublicKey("CURVE_SECP256K1", publicKey).subarray(1)).subarray(12);
}
