import { createPrivateKey, createPublicKey, type KeyObject, randomBytes } from "node:crypto";
import { deriveAddress } from "../../crypto/addresses.ts";
import { compressedPublicKey, isSecretInRange } from "../../crypto/curves.ts";
import { secp256k1 } from "../../crypto/secp256k1.ts";
import { toHex } from "../../kernel/bytes.ts";
import { recentlyUsed } from "../../kernel/recently-used.ts";
import type { Curve, NamedAddress } from "../protocol.ts";
import { publicPoint } from "./p256.ts";

const SECRET_BYTES = 32;

/** A key in use. The caller wipes the secret. */
export interface OpenKey {
  curve: Curve;
  secret: Uint8Array;
  /** Identifies the source of `secret`: the same origin always has the same secret. */
  origin: string;
}

/** A random secret of 32 bytes, within the range of the curve's order. The caller wipes it. */
export function generateSecret(curve: Curve): Buffer {
  for (;;) {
    const secret = randomBytes(SECRET_BYTES);
    if (isSecret(curve, secret)) return secret;
  }
}

/** Whether bytes are a valid secret of the curve. On Ed25519 any 32 bytes are a seed (RFC 8032, section 5.1.5). */
export function isSecret(curve: Curve, bytes: Uint8Array): boolean {
  if (bytes.length !== SECRET_BYTES) return false;
  return curve === "CURVE_ED25519" || isSecretInRange(curve, bytes);
}

/** Lowercase hex: the compressed point, or the 32 bytes of an Ed25519 key. */
export function publicKeyOf(curve: Curve, secret: Uint8Array): string {
  if (curve !== "CURVE_ED25519") return toHex(compressedPublicKey(curve, secret));
  const { x } = createPublicKey(ed25519PrivateKey(secret)).export({ format: "jwk" });
  return Buffer.from(x as string, "base64url").toString("hex");
}

const REMEMBERED_POINTS = 10_000;
const points = recentlyUsed<Uint8Array>({ entries: REMEMBERED_POINTS });

/**
 * Whether the public point of an EC key passes `check`. Computing the point costs as much as signing, and it is not secret, so it is cached
 * under the key's origin. A point that fails is removed from the cache, because it may itself be wrong.
 */
export function checkWithPoint({ curve, secret, origin }: OpenKey, check: (point: Uint8Array) => boolean): boolean {
  const point =
    points.get(origin) ??
    (curve === "CURVE_SECP256K1" ? secp256k1.publicKeyCreate(secret, false) : publicPoint(secret));
  const passes = check(point);
  if (passes) points.set(origin, point);
  else points.forget(origin);
  return passes;
}

const addresses = recentlyUsed<true>({ entries: REMEMBERED_POINTS });

/** Whether the address belongs to the key in that format. Cached, like the public point. */
export function hasAddress({ curve, secret, origin }: OpenKey, { format, address }: NamedAddress): boolean {
  const name = `${format} ${address} ${curve} ${origin}`;
  if (addresses.get(name)) return true;
  const isOwn = deriveAddress(format, curve, Buffer.from(publicKeyOf(curve, secret), "hex")) === address;
  if (isOwn) addresses.set(name, true);
  return isOwn;
}

const ED25519_PKCS8_PREFIX = Buffer.from("302e020100300506032b657004220420", "hex");

/** RFC 8410: the PKCS#8 document is a fixed prefix followed by the seed. */
export function ed25519PrivateKey(seed: Uint8Array): KeyObject {
  const document = Buffer.concat([ED25519_PKCS8_PREFIX, seed]);
  try {
    return createPrivateKey({ key: document, format: "der", type: "pkcs8" });
  } finally {
    document.fill(0);
  }
}
