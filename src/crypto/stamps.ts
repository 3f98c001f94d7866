import { keccak_256 } from "@noble/hashes/sha3.js";
import { bytesFromBase64Url, bytesFromHex } from "../kernel/bytes.ts";
import { fail } from "../kernel/errors.ts";
import { MAX_STAMP_BYTES } from "../kernel/limits.ts";
import { nextTurn } from "../kernel/next-turn.ts";
import { P256_ORDER, parseEcdsaDer, parseFixedWidthEcdsaDer, SECP256K1_ORDER } from "./ecdsa-der.ts";
import { parseJsonObject, stringField } from "./json-object.ts";
import { type ApiKeyCurve, parsePublicKey } from "./public-keys.ts";
import { secp256k1 } from "./secp256k1.ts";
import { verifySignature } from "./verify-signature.ts";

/** The scheme of Ethereum wallets: `personal_sign`. */
const EIP191 = "SIGNATURE_SCHEME_TK_API_SECP256K1_EIP191";

/** Signature schemes of the `X-Stamp` header. */
export type ApiKeyScheme =
  | "SIGNATURE_SCHEME_TK_API_P256"
  | "SIGNATURE_SCHEME_TK_API_SECP256K1"
  | "SIGNATURE_SCHEME_TK_API_ED25519"
  | typeof EIP191;

/** A well-formed stamp whose signature has not been verified yet. */
export type ApiKeyStamp = {
  scheme: ApiKeyScheme;
  curve: ApiKeyCurve;
  /** Lowercase hex: 33 bytes of a compressed point, or 32 bytes for Ed25519. */
  publicKey: string;
  /** 64 bytes: r || s, or R || S for Ed25519. */
  signature: Buffer;
  /** DER, or the same 64 bytes for Ed25519. */
  signatureAsSent: Buffer;
};

const CURVES: ReadonlyMap<string, ApiKeyCurve> = new Map<ApiKeyScheme, ApiKeyCurve>([
  ["SIGNATURE_SCHEME_TK_API_P256", "API_KEY_CURVE_P256"],
  ["SIGNATURE_SCHEME_TK_API_SECP256K1", "API_KEY_CURVE_SECP256K1"],
  ["SIGNATURE_SCHEME_TK_API_ED25519", "API_KEY_CURVE_ED25519"],
  [EIP191, "API_KEY_CURVE_SECP256K1"],
]);

const KEY_FORMS: Record<ApiKeyCurve, string> = {
  API_KEY_CURVE_P256: "the hex of a compressed P-256 point (33 bytes)",
  API_KEY_CURVE_SECP256K1: "the hex of a compressed secp256k1 point (33 bytes)",
  API_KEY_CURVE_ED25519: "the hex of an Ed25519 public key (32 bytes)",
};

const ED25519_SIGNATURE_BYTES = 64;
/** Order L of the Ed25519 group, 32 bytes little-endian (RFC 8032 section 5.1). */
const ED25519_ORDER = Buffer.from("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010", "hex");

/** How much is hashed in JavaScript before other requests may run: about 3 ms. */
const KECCAK_CHUNK_BYTES = 64 * 1024;

/**
 * Reads an `X-Stamp` header: unpadded base64url of the JSON object {publicKey, signature, scheme}; other fields are ignored. Signatures of
 * the ECDSA schemes are strict DER in hex (EIP-191 also with scalars at their full width), those of Ed25519 are 64 bytes in hex.
 *
 * @throws KeysteadError STAMP_MALFORMED
 */
export function decodeApiKeyStamp(header: string): ApiKeyStamp {
  if (header.length > MAX_STAMP_BYTES) return refuse(`it is larger than ${MAX_STAMP_BYTES} bytes`);
  const json = bytesFromBase64Url(header);
  if (!json) return refuse("it is not unpadded base64url");
  const fields = parseJsonObject(json, refuse);
  const publicKey = stringField(fields, "publicKey", refuse);
  const signatureHex = stringField(fields, "signature", refuse);
  const scheme = stringField(fields, "scheme", refuse);
  const curve = CURVES.get(scheme);
  if (!curve) return refuse(`\`scheme\` must be one of ${[...CURVES.keys()].join(", ")}`);
  if (!parsePublicKey(curve, publicKey)) return refuse(`\`publicKey\` must be ${KEY_FORMS[curve]}`);
  const signatureAsSent = bytesFromHex(signatureHex);
  if (!signatureAsSent) return refuse("`signature` is not hex");
  const signature = decodeSignature(scheme, curve, signatureAsSent);
  return { scheme: scheme as ApiKeyScheme, curve, publicKey: publicKey.toLowerCase(), signature, signatureAsSent };
}

function refuse(reason: string): never {
  fail("STAMP_MALFORMED", { reason });
}

function decodeSignature(scheme: string, curve: ApiKeyCurve, bytes: Buffer): Buffer {
  if (curve === "API_KEY_CURVE_ED25519") {
    return isEd25519Signature(bytes)
      ? bytes
      : refuse("`signature` must be 64 bytes R || S with S below the group order");
  }
  const order = curve === "API_KEY_CURVE_P256" ? P256_ORDER : SECP256K1_ORDER;
  const parse = scheme === EIP191 ? parseFixedWidthEcdsaDer : parseEcdsaDer;
  return parse(bytes, order) ?? refuse("`signature` must be an ECDSA signature in strict DER");
}

/** RFC 8032 section 5.1.7: a signature with S >= L is a second encoding of a valid one. */
function isEd25519Signature(bytes: Buffer): boolean {
  if (bytes.length !== ED25519_SIGNATURE_BYTES) return false;
  for (let i = 31; i >= 0; i--) {
    const difference = (bytes[32 + i] ?? 0) - (ED25519_ORDER[i] ?? 0);
    if (difference !== 0) return difference < 0;
  }
  return false;
}

/**
 * Whether the stamp's key signed exactly these bytes. Says nothing about whose key it is.
 *
 * @param body the raw request body as received
 * @returns false for a wrong signature and for any failure; never rejects
 */
export async function verifyApiKeyStamp(stamp: ApiKeyStamp, body: Uint8Array): Promise<boolean> {
  try {
    if (stamp.scheme === EIP191) return await verifyEip191(stamp, body);
    const key = parsePublicKey(stamp.curve, stamp.publicKey);
    if (!key) return false;
    if (stamp.curve === "API_KEY_CURVE_ED25519") return await verifySignature(null, body, key, stamp.signature);
    // DER, because node:crypto would convert r || s to DER on this thread, at about the cost of verifying.
    return await verifySignature("sha256", body, key, stamp.signatureAsSent);
  } catch {
    return false;
  }
}

/** node:crypto cannot verify a precomputed digest, so libsecp256k1 verifies this scheme. It accepts only a low s. */
async function verifyEip191(stamp: ApiKeyStamp, body: Uint8Array): Promise<boolean> {
  const digest = await hashPersonalMessage(body);
  const lowS = secp256k1.signatureNormalize(Uint8Array.from(stamp.signature));
  return secp256k1.ecdsaVerify(lowS, digest, Buffer.from(stamp.publicKey, "hex"));
}

/** ERC-191 version 0x45 (`personal_sign`): keccak256 of the prefix, the decimal byte length and the body. */
async function hashPersonalMessage(body: Uint8Array): Promise<Uint8Array> {
  const hash = keccak_256.create().update(Buffer.from(`\x19Ethereum Signed Message:\n${body.length}`));
  for (let start = 0; start < body.length; start += KECCAK_CHUNK_BYTES) {
    if (start > 0) await nextTurn();
    hash.update(body.subarray(start, start + KECCAK_CHUNK_BYTES));
  }
  return hash.digest();
}
