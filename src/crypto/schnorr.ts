import { createHash } from "node:crypto";
import { toHex, wipe } from "../kernel/bytes.ts";
import { secp256k1 } from "./secp256k1.ts";

/** Schnorr signatures (BIP-340) and the tweak of Taproot keys (BIP-341), using the scalars and points of libsecp256k1. */

const ORDER = Buffer.from("fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141", "hex");
const NO_AUX = new Uint8Array(32);
const NO_TREE = new Uint8Array();
const EVEN = 2;
const ODD = 3;

/**
 * Signs a message of any length; returns 64 bytes.
 *
 * @param aux 32 bytes that are hashed into the nonce; zeros make the signature deterministic
 * @throws Error if the secret is out of range
 */
export function signSchnorr(secret: Uint8Array, message: Uint8Array, aux: Uint8Array = NO_AUX): Uint8Array {
  const { x, secret: even } = evenKey(secret);
  const mask = taggedHash("BIP0340/aux", aux);
  for (const [at, byte] of even.entries()) mask[at] = (mask[at] as number) ^ byte;
  const nonce = evenKey(modOrder(taggedHash("BIP0340/nonce", mask, x, message)));
  try {
    const challenge = modOrder(taggedHash("BIP0340/challenge", nonce.x, x, message));
    secp256k1.privateKeyTweakMul(even, challenge);
    secp256k1.privateKeyTweakAdd(even, nonce.secret);
    return Buffer.concat([nonce.x, even]);
  } finally {
    wipe(mask, nonce.secret, even);
  }
}

/** @param publicKey the 32 bytes of the x coordinate */
export function verifySchnorr(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  if (publicKey.length !== 32 || signature.length !== 64) return false;
  const r = signature.subarray(0, 32);
  const challenge = modOrder(taggedHash("BIP0340/challenge", r, publicKey, message));
  try {
    // R = s·G − e·P. The library throws for a coordinate off the curve, for numbers out of range and for infinity.
    const point = Buffer.concat([Uint8Array.of(EVEN), publicKey]);
    const negated = secp256k1.publicKeyTweakMul(point, secp256k1.privateKeyNegate(challenge), true);
    const nonce = secp256k1.publicKeyTweakAdd(negated, signature.subarray(32), true);
    return nonce[0] === EVEN && Buffer.compare(nonce.subarray(1), r) === 0;
  } catch {
    return false;
  }
}

/** The 32 bytes of the x coordinate of a secret's public key. */
export function xOnlyPublicKey(secret: Uint8Array): Uint8Array {
  return secp256k1.publicKeyCreate(secret, true).subarray(1);
}

/**
 * The secret that spends an output of this key by the key path (BIP-341). The caller wipes it.
 *
 * @param merkleRoot 32 bytes of the script tree; empty for an output without one
 */
export function taprootSecret(secret: Uint8Array, merkleRoot: Uint8Array = NO_TREE): Uint8Array {
  const { x, secret: even } = evenKey(secret);
  return secp256k1.privateKeyTweakAdd(even, taggedHash("TapTweak", x, merkleRoot));
}

/** The x coordinate of a key, and a copy of its secret, negated if y is odd. The caller wipes the copy. */
function evenKey(secret: Uint8Array): { x: Uint8Array; secret: Uint8Array } {
  const point = secp256k1.publicKeyCreate(secret, true);
  const copy = Uint8Array.from(secret);
  return { x: point.subarray(1), secret: point[0] === ODD ? secp256k1.privateKeyNegate(copy) : copy };
}

/** Reduces 32 bytes modulo the order, in place. One hash in 2^127 is not below it. */
export function modOrder(bytes: Buffer): Buffer {
  if (Buffer.compare(bytes, ORDER) < 0) return bytes;
  const rest = BigInt(`0x${toHex(bytes)}`) - BigInt(`0x${toHex(ORDER)}`);
  return bytes.fill(Buffer.from(rest.toString(16).padStart(64, "0"), "hex"));
}

export function taggedHash(tag: string, ...parts: Uint8Array[]): Buffer {
  const prefix = createHash("sha256").update(tag).digest();
  const hash = createHash("sha256").update(prefix).update(prefix);
  for (const part of parts) hash.update(part);
  return hash.digest();
}
