import { createHash } from "node:crypto";
import { toHex, wipe } from "../../kernel/bytes.ts";
import { SECP256K1_ORDER } from "../ecdsa-der.ts";
import { secp256k1 } from "../secp256k1.ts";

/** Scalars of 32 bytes, big-endian, and compressed points of secp256k1, using the arithmetic of libsecp256k1. */

const EVEN = 2;
const ODD = 3;
const HASH_BYTES = 32;
/** A scalar is derived from this many bytes (RFC 9380, section 5): 128 bits more than the order has, which makes the bias negligible. */
const WIDE_BYTES = 48;
const HALF_BYTES = WIDE_BYTES / 2;
const TWO_TO_192 = Buffer.alloc(32);
TWO_TO_192[7] = 1;

export const isOdd = (point: Uint8Array): boolean => point[0] === ODD;

export const isPoint = (bytes: Uint8Array): boolean => bytes.length === 33 && secp256k1.publicKeyVerify(bytes);

/** The same x coordinate with the other y. */
export function negated(point: Uint8Array): Uint8Array {
  const other = Uint8Array.from(point);
  other[0] = isOdd(point) ? EVEN : ODD;
  return other;
}

/** The point with this x coordinate and an even y. */
export const evenPoint = (x: Uint8Array): Uint8Array => Buffer.concat([Uint8Array.of(EVEN), x]);

export const xOf = (point: Uint8Array): Uint8Array => point.subarray(1);

/** @throws Error if the sum is the point at infinity */
export const pointSum = (points: readonly Uint8Array[]): Uint8Array => secp256k1.publicKeyCombine([...points], true);

/** `scalar` must be public, because the time depends on it. */
export const pointTimes = (point: Uint8Array, scalar: Uint8Array): Uint8Array =>
  secp256k1.publicKeyTweakMul(point, scalar, true);

export const pointOf = (secret: Uint8Array): Uint8Array => secp256k1.publicKeyCreate(secret, true);

/** A copy, negated if `isNegative`. The caller wipes it. */
export function signed(scalar: Uint8Array, isNegative: boolean): Uint8Array {
  const copy = Uint8Array.from(scalar);
  return isNegative ? secp256k1.privateKeyNegate(copy) : copy;
}

/** A copy of `scalar` times a factor. The caller wipes it. */
export function times(scalar: Uint8Array, factor: Uint8Array): Uint8Array {
  return secp256k1.privateKeyTweakMul(Uint8Array.from(scalar), factor);
}

/** Adds to `sum`, in place. */
export function add(sum: Uint8Array, scalar: Uint8Array): Uint8Array {
  return secp256k1.privateKeyTweakAdd(sum, scalar);
}

/** A small number as a scalar. */
export function smallScalar(value: number): Buffer {
  const scalar = Buffer.alloc(32);
  scalar.writeUInt32BE(value, 28);
  return scalar;
}

export const isScalar = (bytes: Uint8Array): boolean => secp256k1.privateKeyVerify(bytes);

/**
 * Hashes a message to a scalar: expand_message_xmd with SHA-256 (RFC 9380, section 5.3.1) to 48 bytes, modulo the order. No copy of the
 * message or of the bytes remains, because they may be secret. If the scalar is secret, the caller wipes it.
 */
export function hashToScalar(domain: string, ...message: Uint8Array[]): Uint8Array {
  const wide = expandMessage(domain, message);
  const low = Buffer.alloc(32);
  const scalar = new Uint8Array(32);
  scalar.set(wide.subarray(0, HALF_BYTES), 32 - HALF_BYTES);
  low.set(wide.subarray(HALF_BYTES), 32 - HALF_BYTES);
  try {
    return add(secp256k1.privateKeyTweakMul(scalar, TWO_TO_192), low);
  } finally {
    wipe(wide, low);
  }
}

function expandMessage(domain: string, message: readonly Uint8Array[]): Buffer {
  const suffix = Buffer.concat([Buffer.from(domain), Uint8Array.of(Buffer.byteLength(domain))]);
  const first = createHash("sha256").update(Buffer.alloc(64));
  for (const part of message) first.update(part);
  const b0 = first
    .update(Uint8Array.of(0, WIDE_BYTES, 0))
    .update(suffix)
    .digest();
  const b1 = createHash("sha256").update(b0).update(Uint8Array.of(1)).update(suffix).digest();
  const mixed = Buffer.alloc(HASH_BYTES);
  for (const [at, byte] of b0.entries()) mixed[at] = byte ^ (b1[at] as number);
  const b2 = createHash("sha256").update(mixed).update(Uint8Array.of(2)).update(suffix).digest();
  const wide = Buffer.concat([b1, b2.subarray(0, WIDE_BYTES - HASH_BYTES)]);
  wipe(b0, b1, b2, mixed);
  return wide;
}

const ORDER = BigInt(`0x${toHex(SECP256K1_ORDER)}`);

/** For public numbers only. */
export function publicScalar(value: bigint): Buffer {
  return Buffer.from((value % ORDER).toString(16).padStart(64, "0"), "hex");
}
