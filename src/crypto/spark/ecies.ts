import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";
import { wipe } from "../../kernel/bytes.ts";
import { secp256k1 } from "../secp256k1.ts";
import { isScalar } from "./group.ts";

/**
 * ECIES as Spark's operators use it: uncompressed ephemeral key, 16-byte nonce, 16-byte tag, ciphertext of AES-256-GCM. The key is
 * HKDF-SHA-256 of the ephemeral key and the shared point.
 */

const POINT_BYTES = 65;
const NONCE_BYTES = 16;
const TAG_BYTES = 16;
const CIPHER = "aes-256-gcm";
/** By how many bytes an envelope is longer than its plaintext. */
export const ECIES_OVERHEAD = POINT_BYTES + NONCE_BYTES + TAG_BYTES;

/** An envelope under construction. The plaintext may be appended in pieces, and none is kept. */
export interface Envelope {
  append(plaintext: Uint8Array): void;
  /** Returns the complete envelope; nothing can be appended after that. */
  finish(): Buffer;
}

export interface EnvelopeRandomness {
  ephemeral: Uint8Array;
  nonce: Uint8Array;
}

/**
 * An envelope for the owner of a key.
 *
 * @param publicKey a point in compressed or uncompressed form
 * @param randomness random unless given; wiped
 * @throws Error if the point is off the curve
 */
export function envelopeTo(publicKey: Uint8Array, randomness: EnvelopeRandomness = drawRandomness()): Envelope {
  const { ephemeral, nonce } = randomness;
  const sender = secp256k1.publicKeyCreate(ephemeral, false);
  const key = sharedKey(sender, publicKey, ephemeral);
  const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
  wipe(key, ephemeral);
  const ciphertext: Buffer[] = [];
  return {
    append: (plaintext) => void ciphertext.push(cipher.update(plaintext)),
    finish() {
      ciphertext.push(cipher.final());
      return Buffer.concat([sender, nonce, cipher.getAuthTag(), ...ciphertext]);
    },
  };
}

/** Encrypts one text. */
export function seal(publicKey: Uint8Array, plaintext: Uint8Array, randomness?: EnvelopeRandomness): Buffer {
  const envelope = envelopeTo(publicKey, randomness);
  envelope.append(plaintext);
  return envelope.finish();
}

/** The plaintext of an envelope; undefined if it was not encrypted to this key, or is not an envelope. The caller wipes it. */
export function open(secret: Uint8Array, envelope: Uint8Array): Buffer | undefined {
  if (envelope.length < ECIES_OVERHEAD) return undefined;
  const sender = envelope.subarray(0, POINT_BYTES);
  if (sender[0] !== 4 || !secp256k1.publicKeyVerify(sender)) return undefined;
  const nonce = envelope.subarray(POINT_BYTES, POINT_BYTES + NONCE_BYTES);
  const tag = envelope.subarray(POINT_BYTES + NONCE_BYTES, ECIES_OVERHEAD);
  const key = sharedKey(sender, sender, secret);
  const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
  wipe(key);
  decipher.setAuthTag(tag);
  const plaintext = decipher.update(envelope.subarray(ECIES_OVERHEAD));
  try {
    decipher.final();
    return plaintext;
  } catch {
    wipe(plaintext);
    return undefined;
  }
}

function drawRandomness(): EnvelopeRandomness {
  for (;;) {
    const ephemeral = randomBytes(32);
    if (isScalar(ephemeral)) return { ephemeral, nonce: randomBytes(NONCE_BYTES) };
  }
}

/** The only multiplication by a secret in constant time that the library offers is ECDH. */
function sharedKey(sender: Uint8Array, other: Uint8Array, secret: Uint8Array): Uint8Array {
  const [xbuf, ybuf] = [new Uint8Array(32), new Uint8Array(32)];
  const [copied, shared] = [new Uint8Array(POINT_BYTES), new Uint8Array(POINT_BYTES)];
  // The library copies the result to the buffer that it was given.
  const hashfn = (x: Uint8Array, y: Uint8Array): Uint8Array => {
    copied.set([4]);
    copied.set(x, 1);
    copied.set(y, 1 + x.length);
    return copied;
  };
  const point = secp256k1.ecdh(other, secret, { hashfn, xbuf, ybuf }, shared);
  const material = Buffer.concat([sender, point]);
  try {
    return new Uint8Array(hkdfSync("sha256", material, new Uint8Array(), new Uint8Array(), 32));
  } finally {
    wipe(xbuf, ybuf, copied, shared, material);
  }
}
