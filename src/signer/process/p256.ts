import { createECDH, createHmac, type ECDH, randomBytes } from "node:crypto";
import { p256 } from "@noble/curves/nist.js";
import { wipe } from "../../kernel/bytes.ts";

/**
 * ECDSA on P-256 with the nonces of RFC 6979 and low s. OpenSSL would draw its own nonces and take no digest that is made
 * already, but it multiplies points ten times as fast as JavaScript: its ECDH does that here, and numbers are reckoned
 * modulo the order of the group beside it.
 */

const { Fn } = p256.Point;
const COORDINATE_BYTES = 32;
const NUMBER_BYTES = 32;

export interface P256Signature {
  r: bigint;
  s: bigint;
  /** Bit 0: the nonce's point has an odd y; bit 1: its x is not below the order (SEC 1, section 4.1.6). */
  recoveryBit: number;
  /** The nonce's point R, from which r comes, uncompressed. */
  noncePoint: Uint8Array;
}

/** Signs a 32-byte digest; always the same for the same digest and secret. */
export function signDigest(digest: Uint8Array, secret: Uint8Array): P256Signature {
  const e = Fn.create(numberOf(digest));
  for (const nonce of nonces(digest, secret)) {
    try {
      const signature = signWithNonce(e, secret, nonce);
      if (signature) return signature;
    } finally {
      wipe(nonce);
    }
  }
  throw new Error("nonces never end");
}

/** Undefined for a nonce that will not do. */
function signWithNonce(e: bigint, secret: Uint8Array, nonce: Uint8Array): P256Signature | undefined {
  const k = numberOf(nonce);
  if (!Fn.isValidNot0(k)) return undefined;
  const noncePoint = multiplyBase(createECDH("prime256v1"), nonce);
  const x = numberOf(noncePoint.subarray(1, 1 + COORDINATE_BYTES));
  const r = Fn.create(x);
  const s = Fn.mul(blindedInverse(k), Fn.add(e, Fn.mul(r, numberOf(secret))));
  if (r === 0n || s === 0n) return undefined;
  const isHigh = s > Fn.ORDER / 2n;
  const yBit = (noncePoint.at(-1) ?? 0) & 1;
  const recoveryBit = (isHigh ? yBit ^ 1 : yBit) | (x === r ? 0 : 2);
  return { r, s: isHigh ? Fn.neg(s) : s, recoveryBit, noncePoint };
}

/** How long the inversion takes then tells nothing about the number. */
function blindedInverse(number: bigint): bigint {
  const blind = Fn.create(numberOf(randomBytes(NUMBER_BYTES)) | 1n);
  return Fn.mul(Fn.inv(Fn.mul(number, blind)), blind);
}

/**
 * Whether a signature is one over the digest by the public key `point`. A signature is valid when R has x coordinate r and
 * sR = ±(eG + rQ). The right side is (e + rd)G, once dG is found to be Q: so the secret is checked in it as well.
 */
export function isValid(
  { r, s, noncePoint }: P256Signature,
  digest: Uint8Array,
  secret: Uint8Array,
  point: Uint8Array,
): boolean {
  const pair = createECDH("prime256v1");
  if (r !== Fn.create(numberOf(noncePoint.subarray(1, 1 + COORDINATE_BYTES)))) return false;
  if (!multiplyBase(pair, secret).equals(point)) return false;
  const scalar = bytesOf(Fn.add(Fn.create(numberOf(digest)), Fn.mul(r, numberOf(secret))));
  const right = multiplyBase(pair, scalar).subarray(1, 1 + COORDINATE_BYTES);
  wipe(scalar);
  pair.setPrivateKey(bytesOf(s));
  return pair.computeSecret(noncePoint).equals(right);
}

/** The uncompressed point of a secret. */
export const publicPoint = (secret: Uint8Array): Uint8Array => multiplyBase(createECDH("prime256v1"), secret);

function multiplyBase(pair: ECDH, number: Uint8Array): Buffer {
  pair.setPrivateKey(number);
  return pair.getPublicKey();
}

/** RFC 6979, section 3.2, with SHA-256; the caller wipes each. */
function* nonces(digest: Uint8Array, secret: Uint8Array): Generator<Buffer> {
  const reduced = bytesOf(Fn.create(numberOf(digest)));
  let key: Buffer = Buffer.alloc(32);
  let value: Buffer = Buffer.alloc(32, 1);
  const stir = (...parts: Uint8Array[]) => {
    const mac = createHmac("sha256", key).update(value);
    for (const part of parts) mac.update(part);
    wipe(key);
    key = mac.digest();
    value = createHmac("sha256", key).update(value).digest();
  };
  try {
    stir(Uint8Array.of(0), secret, reduced);
    stir(Uint8Array.of(1), secret, reduced);
    for (;;) {
      value = createHmac("sha256", key).update(value).digest();
      yield Buffer.from(value);
      stir(Uint8Array.of(0));
    }
  } finally {
    wipe(key);
    wipe(value);
  }
}

const numberOf = (bytes: Uint8Array): bigint => BigInt(`0x${Buffer.from(bytes).toString("hex")}`);
export const bytesOf = (number: bigint): Buffer => Buffer.from(Fn.toBytes(number));
