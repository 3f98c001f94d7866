import { createPublicKey, ECDH, type KeyObject } from "node:crypto";
import { ed25519 } from "@noble/curves/ed25519.js";
import { recentlyUsed } from "../kernel/recently-used.ts";
import { secp256k1 } from "./secp256k1.ts";

/** Curves of API keys, as named in the API. */
export type ApiKeyCurve = "API_KEY_CURVE_P256" | "API_KEY_CURVE_SECP256K1" | "API_KEY_CURVE_ED25519";

const COMPRESSED_POINT = /^0[23][0-9a-f]{64}$/;
const ED25519_POINT = /^[0-9a-f]{64}$/;
const CACHED_KEYS = 10_000;

const cache = recentlyUsed<KeyObject>({ entries: CACHED_KEYS });

/**
 * The public key of a credential: 33 bytes of a compressed point (SEC 1 section 2.3.3) for the EC curves, 32 bytes (RFC 8032 section 5.1.2)
 * for Ed25519, in hex of either case. Other lengths and encodings are rejected, as are coordinates not below the field prime, points off
 * the curve, and Ed25519 points of small order, for which one signature is valid for any message.
 *
 * Importing a point costs about as much as verifying a signature, so valid keys are cached, with least-recently-used eviction.
 *
 * @returns undefined if it is not a usable key
 */
export function parsePublicKey(curve: ApiKeyCurve, hex: string): KeyObject | undefined {
  const exact = cache.get(curve + hex);
  if (exact) return exact;
  const name = hex.toLowerCase();
  const known = name === hex ? undefined : cache.get(curve + name);
  if (known) return known;
  const key = importPublicKey(curve, name);
  if (key) cache.set(curve + name, key);
  return key;
}

/** The canonical spelling for storing and looking up a public key: lowercase hex. Undefined if `parsePublicKey` rejects it. */
export function normalizePublicKey(curve: ApiKeyCurve, hex: string): string | undefined {
  return parsePublicKey(curve, hex) ? hex.toLowerCase() : undefined;
}

function importPublicKey(curve: ApiKeyCurve, hex: string): KeyObject | undefined {
  const shape = curve === "API_KEY_CURVE_ED25519" ? ED25519_POINT : COMPRESSED_POINT;
  if (!shape.test(hex)) return undefined;
  const bytes = Buffer.from(hex, "hex");
  try {
    if (curve === "API_KEY_CURVE_ED25519") return importEd25519(bytes);
    return curve === "API_KEY_CURVE_P256" ? importP256(bytes) : importSecp256k1(bytes);
  } catch {
    // All three libraries throw if a point is off the curve or a coordinate is not below the field prime.
    return undefined;
  }
}

function importP256(compressed: Buffer): KeyObject {
  const point = ECDH.convertKey(compressed, "prime256v1", undefined, undefined, "uncompressed") as Buffer;
  return importEcPoint("P-256", point);
}

function importSecp256k1(compressed: Buffer): KeyObject {
  return importEcPoint("secp256k1", Buffer.from(secp256k1.publicKeyConvert(compressed, false)));
}

/** @param point 65 bytes 04 || x || y. A JWK imports faster than DER or PEM. */
function importEcPoint(crv: string, point: Buffer): KeyObject {
  const x = point.toString("base64url", 1, 33);
  const y = point.toString("base64url", 33, 65);
  return createPublicKey({ format: "jwk", key: { kty: "EC", crv, x, y } });
}

function importEd25519(bytes: Buffer): KeyObject | undefined {
  // OpenSSL accepts any 32 bytes. The strict decoder of RFC 8032 section 5.1.3 rejects y >= p and points off the curve.
  if (ed25519.Point.fromBytes(bytes, false).isSmallOrder()) return undefined;
  return createPublicKey({ format: "jwk", key: { kty: "OKP", crv: "Ed25519", x: bytes.toString("base64url") } });
}
