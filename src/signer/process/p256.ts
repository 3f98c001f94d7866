import { createECDH, type ECDH, hash, randomBytes } from "node:crypto";
import { p256 } from "@noble/curves/nist.js";
import { wipe } from "../../kernel/bytes.ts";

/**
 * ECDSA on P-256 with the nonces of RFC 6979 and low s. OpenSSL would draw its own nonces and accepts no precomputed digest, but it
 * multiplies points ten times as fast as JavaScript. So its ECDH does the multiplications here, always of the base point G, and JavaScript
 * does the arithmetic modulo the group order.
 */

const { Fn } = p256.Point;
const COORDINATE_BYTES = 32;
const NUMBER_BYTES = 32;

export interface P256Signature {
  r: bigint;
  s: bigint;
  /** Bit 0: the nonce's point has an odd y. Bit 1: its x is not below the order (SEC 1, section 4.1.6). */
  recoveryBit: number;
}

/** Signs a 32-byte digest. Deterministic: the same digest and secret give the same signature. */
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

/** Undefined if the nonce is unusable. */
function signWithNonce(e: bigint, secret: Uint8Array, nonce: Uint8Array): P256Signature | undefined {
  const k = numberOf(nonce);
  if (!Fn.isValidNot0(k)) return undefined;
  const noncePoint = multiplyBase(createECDH("prime256v1"), nonce);
  const { r, bits } = readNoncePoint(noncePoint);
  const s = Fn.mul(blindedInverse(k), Fn.add(e, Fn.mul(r, numberOf(secret))));
  if (r === 0n || s === 0n) return undefined;
  // (r, -s) is the signature for -R, whose y has the other parity.
  return s > Fn.ORDER / 2n ? { r, s: Fn.neg(s), recoveryBit: bits ^ 1 } : { r, s, recoveryBit: bits };
}

/** The parts of a signature that come from the nonce's point R: x modulo the order, and the bits to recover R. */
function readNoncePoint(uncompressed: Uint8Array): { r: bigint; bits: number } {
  const x = numberOf(uncompressed.subarray(1, 1 + COORDINATE_BYTES));
  const r = Fn.create(x);
  return { r, bits: ((uncompressed.at(-1) ?? 0) & 1) | (x === r ? 0 : 2) };
}

/** Blinded, so that the time of the inversion reveals nothing about the number. */
function blindedInverse(number: bigint): bigint {
  const blind = Fn.create(numberOf(randomBytes(NUMBER_BYTES)) | 1n);
  return Fn.mul(Fn.inv(Fn.mul(number, blind)), blind);
}

/**
 * Whether a signature over the digest is valid for the public key `point`, and its recovery bit leads back to that key. It is valid (SEC 1,
 * section 4.1.4) if R = s⁻¹(eG + rQ) has the x coordinate r. With the secret d, R is s⁻¹(e + rd)G, a single multiplication of the base
 * point G, provided that dG equals Q; so this also checks the secret.
 */
export function isValid(
  { r, s, recoveryBit }: P256Signature,
  digest: Uint8Array,
  secret: Uint8Array,
  point: Uint8Array,
): boolean {
  if (!Fn.isValidNot0(r) || !Fn.isValidNot0(s)) return false;
  const pair = createECDH("prime256v1");
  if (!multiplyBase(pair, secret).equals(point)) return false;
  const nonce = Fn.mul(Fn.inv(s), Fn.add(Fn.create(numberOf(digest)), Fn.mul(r, numberOf(secret))));
  if (nonce === 0n) return false;
  const scalar = bytesOf(nonce);
  const found = readNoncePoint(multiplyBase(pair, scalar));
  wipe(scalar);
  return found.r === r && found.bits === recoveryBit;
}

/** The uncompressed point of a secret. */
export const publicPoint = (secret: Uint8Array): Uint8Array => multiplyBase(createECDH("prime256v1"), secret);

function multiplyBase(pair: ECDH, number: Uint8Array): Buffer {
  pair.setPrivateKey(number);
  return pair.getPublicKey();
}

/** RFC 6979, section 3.2, with SHA-256; the caller wipes each nonce. */
function* nonces(digest: Uint8Array, secret: Uint8Array): Generator<Buffer> {
  const reduced = bytesOf(Fn.create(numberOf(digest)));
  let key: Buffer = Buffer.alloc(32);
  let value: Buffer = Buffer.alloc(32, 1);
  const stir = (...parts: Uint8Array[]) => {
    const stirred = hmac(key, value, ...parts);
    wipe(key);
    key = stirred;
    value = hmac(key, value);
  };
  try {
    stir(Uint8Array.of(0), secret, reduced);
    stir(Uint8Array.of(1), secret, reduced);
    for (;;) {
      value = hmac(key, value);
      yield Buffer.from(value);
      stir(Uint8Array.of(0));
    }
  } finally {
    wipe(key);
    wipe(value);
  }
}

const BLOCK_BYTES = 64;

/** HMAC-SHA-256 (RFC 2104) with a key of 32 bytes. An object of `createHmac` takes five times as long as both hashes. */
function hmac(key: Uint8Array, ...parts: Uint8Array[]): Buffer {
  const inner = Buffer.concat([new Uint8Array(BLOCK_BYTES).fill(0x36), ...parts]);
  const outer = Buffer.alloc(BLOCK_BYTES + 32, 0x5c);
  key.forEach((byte, index) => {
    inner[index] = 0x36 ^ byte;
    outer[index] = 0x5c ^ byte;
  });
  hash("sha256", inner, "buffer").copy(outer, BLOCK_BYTES);
  const mac = hash("sha256", outer, "buffer");
  wipe(inner, outer);
  return mac;
}

const numberOf = (bytes: Uint8Array): bigint => BigInt(`0x${Buffer.from(bytes).toString("hex")}`);
export const bytesOf = (number: bigint): Buffer => Buffer.from(Fn.toBytes(number));
