import { createHmac } from "node:crypto";
import { p256 } from "@noble/curves/nist.js";
import { wipe } from "../kernel/bytes.ts";
import { type Curve, compressedPublicKey, isSecretInRange, type WeierstrassCurve } from "./curves.ts";
import type { PathLevel } from "./hd-path.ts";
import { secp256k1 } from "./secp256k1.ts";

/** A key that can have children; both members are 32 bytes. The caller wipes both. */
export interface HdNode {
  secret: Uint8Array;
  chainCode: Uint8Array;
}

/** The HMAC keys of SLIP-10; the first one is also that of BIP-32. */
const SEED_KEYS: Record<Curve, string> = {
  CURVE_SECP256K1: "Bitcoin seed",
  CURVE_P256: "Nist256p1 seed",
  CURVE_ED25519: "ed25519 seed",
};
const HARDENED = 0x80000000;

/**
 * The secret at a path below a seed: BIP-32 on secp256k1, SLIP-10 on P-256 and Ed25519. On Ed25519 every level is derived as hardened,
 * whether it is written so or not. The caller wipes the secret.
 */
export function deriveSecret(curve: Curve, seed: Uint8Array, path: readonly PathLevel[]): Uint8Array {
  let node = masterNode(curve, seed);
  for (const level of path) {
    const child = childNode(curve, node, level);
    wipe(node.secret, node.chainCode);
    node = child;
  }
  wipe(node.chainCode);
  return node.secret;
}

/** If the first hash is not a valid secret of the curve, the hash is hashed again in place of the seed (SLIP-10). */
export function masterNode(curve: Curve, seed: Uint8Array): HdNode {
  let digest = hmac(SEED_KEYS[curve], seed);
  while (curve !== "CURVE_ED25519" && !isSecretInRange(curve, digest.subarray(0, 32))) {
    const next = hmac(SEED_KEYS[curve], digest);
    wipe(digest);
    digest = next;
  }
  return { secret: digest.subarray(0, 32), chainCode: digest.subarray(32) };
}

/** If an index has no valid key, the hash is computed again over its right half (SLIP-10). BIP-32 does not define this case. */
export function childNode(curve: Curve, parent: HdNode, { index, hardened }: PathLevel): HdNode {
  const number = Buffer.alloc(4);
  const data: Uint8Array[] = [];
  if (curve === "CURVE_ED25519" || hardened) {
    number.writeUInt32BE(index + HARDENED);
    data.push(Uint8Array.of(0), parent.secret, number);
  } else {
    number.writeUInt32BE(index);
    data.push(compressedPublicKey(curve, parent.secret), number);
  }
  let digest = hmac(parent.chainCode, ...data);
  while (curve !== "CURVE_ED25519" && !addSecret(curve, digest.subarray(0, 32), parent.secret)) {
    const next = hmac(parent.chainCode, Uint8Array.of(1), digest.subarray(32), number);
    wipe(digest);
    digest = next;
  }
  return { secret: digest.subarray(0, 32), chainCode: digest.subarray(32) };
}

/** Adds `secret` to `sum` modulo the order, in place; false if `sum` is not below the order or the result is zero. */
function addSecret(curve: WeierstrassCurve, sum: Uint8Array, secret: Uint8Array): boolean {
  const result = curve === "CURVE_SECP256K1" ? sumOnSecp256k1(sum, secret) : sumOnP256(sum, secret);
  if (!result) return false;
  sum.set(result);
  wipe(result);
  return true;
}

function sumOnSecp256k1(tweak: Uint8Array, secret: Uint8Array): Uint8Array | undefined {
  const copy = Uint8Array.from(secret);
  try {
    return secp256k1.privateKeyTweakAdd(copy, tweak);
  } catch {
    wipe(copy);
    return undefined;
  }
}

function sumOnP256(tweak: Uint8Array, secret: Uint8Array): Uint8Array | undefined {
  const { Fn } = p256.Point;
  if (Buffer.compare(tweak, Fn.toBytes(Fn.neg(1n))) > 0) return undefined;
  const sum = Fn.add(Fn.fromBytes(tweak), Fn.fromBytes(secret));
  return Fn.is0(sum) ? undefined : Fn.toBytes(sum);
}

/** The 64 bytes of HMAC-SHA512 over the parts. */
function hmac(key: string | Uint8Array, ...parts: Uint8Array[]): Buffer {
  const hash = createHmac("sha512", key);
  for (const part of parts) hash.update(part);
  return hash.digest();
}
