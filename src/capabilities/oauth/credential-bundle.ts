import { ECDH } from "node:crypto";
import { sha256 } from "@noble/hashes/sha2.js";
import { createBase58check } from "@scure/base";
import type { SealedMessage } from "../../crypto/hpke.ts";

const base58check = createBase58check(sha256);

/** A message as clients take bundles of credentials: base58check of the sender's point, compressed, and the ciphertext. */
export function credentialBundle({ encapped, ciphertext }: SealedMessage): string {
  const point = ECDH.convertKey(encapped, "prime256v1", undefined, undefined, "compressed") as Buffer;
  return base58check.encode(Buffer.concat([point, ciphertext]));
}
