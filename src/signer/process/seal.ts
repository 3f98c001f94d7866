import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import type { Sealed } from "../protocol.ts";

const VERSION = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * AES-256-GCM (NIST SP 800-38D) with a random 96-bit nonce. Layout: version byte, nonce, tag, ciphertext. `context` names what is sealed
 * and for whom. It is authenticated, so that a sealed value cannot be moved to another row.
 */
export function seal(key: Uint8Array, context: readonly string[], plaintext: Uint8Array): Sealed {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv("aes-256-gcm", key, nonce);
  cipher.setAAD(contextBytes(context));
  const ciphertext = Buffer.concat([cipher.update(plaintext), cipher.final()]);
  return Buffer.concat([Uint8Array.of(VERSION), nonce, cipher.getAuthTag(), ciphertext]).toString("base64");
}

/** The plaintext, or undefined if the key, the context or the bytes do not match. The caller wipes it. */
export function unseal(key: Uint8Array, context: readonly string[], sealed: Sealed): Buffer | undefined {
  const bytes = Buffer.from(sealed, "base64");
  if (bytes.length < 1 + NONCE_BYTES + TAG_BYTES || bytes[0] !== VERSION) return undefined;
  const tagStart = 1 + NONCE_BYTES;
  const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(1, tagStart), { authTagLength: TAG_BYTES });
  decipher.setAAD(contextBytes(context));
  decipher.setAuthTag(bytes.subarray(tagStart, tagStart + TAG_BYTES));
  const plaintext = decipher.update(bytes.subarray(tagStart + TAG_BYTES));
  try {
    decipher.final();
    return plaintext;
  } catch {
    plaintext.fill(0);
    return undefined;
  }
}

// None of the parts (purposes, identifiers, curves) can contain the separator.
const contextBytes = (context: readonly string[]): Buffer => Buffer.from(context.join("|"));
