import { createHash } from "node:crypto";
import { ed25519 } from "@noble/curves/ed25519.js";
import { p256 } from "@noble/curves/nist.js";
import { secp256k1 } from "@noble/curves/secp256k1.js";

/** Public keys of fixed secrets, compressed, or the 32 bytes of Ed25519: both parities of Y, and leading zeros. */
export type Curve = "CURVE_SECP256K1" | "CURVE_ED25519" | "CURVE_P256";
export interface Key {
  readonly why: string;
  readonly publicKey: Uint8Array;
}

type Weierstrass = typeof secp256k1 | typeof p256;

const pointOf = (curve: Weierstrass, secret: bigint): Uint8Array => curve.Point.BASE.multiply(secret).toBytes(true);

function weierstrassKeys(curve: Weierstrass): Key[] {
  const { ORDER } = curve.Point.Fn;
  const hashed = BigInt(`0x${createHash("sha256").update("keystead address vectors").digest("hex")}`) % ORDER;
  const secrets: [string, bigint][] = [
    ["secret 1", 1n],
    ["secret 2", 2n],
    ["secret 3", 3n],
    ["secret order - 1", ORDER - 1n],
    ["secret order - 2", ORDER - 2n],
    ["secret from a hash", hashed],
    [
      "the smallest secret whose X begins with a zero byte",
      smallestSecret((secret) => pointOf(curve, secret)[1] === 0),
    ],
  ];
  const keys = secrets.map(([why, secret]) => ({ why, publicKey: pointOf(curve, secret) }));
  const parities = new Set(keys.map(({ publicKey }) => publicKey[0]));
  if (parities.size !== 2) throw new Error("both parities of Y should be there");
  return keys;
}

const seedOf = (secret: bigint): Uint8Array => Buffer.from(secret.toString(16).padStart(64, "0"), "hex");
const edwardsPoint = (secret: bigint): Uint8Array => ed25519.getPublicKey(seedOf(secret));

function edwardsKeys(): Key[] {
  const secrets: [string, bigint][] = [
    ["seed 1", 1n],
    ["seed 2", 2n],
    ["seed of 32 bytes ff", 2n ** 256n - 1n],
    ["RFC 8032 section 7.1, test 1", 0x9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60n],
    ["RFC 8032 section 7.1, test 2", 0x4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fbn],
    [
      "the smallest seed whose public key begins with a zero byte",
      smallestSecret((seed) => edwardsPoint(seed)[0] === 0),
    ],
    ["the smallest seed whose X is odd", smallestSecret((seed) => ((edwardsPoint(seed)[31] ?? 0) & 0x80) !== 0)],
  ];
  return secrets.map(([why, secret]) => ({ why, publicKey: edwardsPoint(secret) }));
}

function smallestSecret(wanted: (secret: bigint) => boolean): bigint {
  let secret = 1n;
  while (!wanted(secret)) secret += 1n;
  return secret;
}

export const keys: Record<Curve, Key[]> = {
  CURVE_SECP256K1: weierstrassKeys(secp256k1),
  CURVE_ED25519: edwardsKeys(),
  CURVE_P256: weierstrassKeys(p256),
};
