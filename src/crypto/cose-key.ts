import { createPublicKey, type KeyObject } from "node:crypto";
import { type DecodeOptions, decode } from "cborg";
import { recentlyUsed } from "../kernel/recently-used.ts";

/** A passkey's public key. Algorithms are COSE numbers: ES256 = -7, RS256 = -257. */
export type CosePublicKey = { algorithm: -7 | -257; key: KeyObject };

/** The rules of CTAP2 canonical CBOR that prevent ambiguous encodings: minimal lengths, definite lengths, no duplicate keys. */
export const CTAP2_CBOR: DecodeOptions = {
  useMaps: true,
  strict: true,
  rejectDuplicateMapKeys: true,
  allowIndefinite: false,
  allowUndefined: false,
};

const ES256 = -7;
const RS256 = -257;

// COSE_Key labels: RFC 9052 section 7.1, RFC 9053 section 7.1.1, RFC 8230 section 4. -1 and -2 depend on the key type.
const KTY = 1;
const ALG = 3;
const KTY_EC2 = 2;
const EC2_CRV = -1;
const EC2_X = -2;
const EC2_Y = -3;
const KTY_RSA = 3;
const RSA_N = -1;
const RSA_E = -2;
const CRV_P256 = 1;
const COORDINATE_BYTES = 32;

const MIN_MODULUS_BITS = 2048;
/** Keys beyond these limits are slow to verify, and no known authenticator uses them. */
const MAX_MODULUS_BITS = 8192;
const MAX_EXPONENT_BYTES = 8;

const CACHED_KEYS = 10_000;
const cache = recentlyUsed<CosePublicKey>({ entries: CACHED_KEYS });

/**
 * Parses a passkey's COSE_Key (WebAuthn Level 3, section 6.5.1.1). It must have exactly the required parameters of an ES256 key on P-256
 * with both coordinates, or of an RS256 key with a modulus of 2048 to 8192 bits and an odd exponent of at least 3.
 *
 * @returns undefined if it is anything else
 */
export function parseCosePublicKey(cose: Uint8Array): CosePublicKey | undefined {
  const name = Buffer.from(cose.buffer, cose.byteOffset, cose.byteLength).toString("latin1");
  const known = cache.get(name);
  if (known) return known;
  const parsed = importCoseKey(cose);
  if (parsed) cache.set(name, parsed);
  return parsed;
}

function importCoseKey(cose: Uint8Array): CosePublicKey | undefined {
  try {
    const parameters: unknown = decode(cose, CTAP2_CBOR);
    if (!(parameters instanceof Map)) return undefined;
    const [type, algorithm] = [parameters.get(KTY), parameters.get(ALG)];
    if (type === KTY_EC2 && algorithm === ES256) return importEc2(parameters);
    return type === KTY_RSA && algorithm === RS256 ? importRsa(parameters) : undefined;
  } catch {
    // Not CBOR, or a point that is not on the curve according to OpenSSL.
    return undefined;
  }
}

function importEc2(parameters: Map<unknown, unknown>): CosePublicKey | undefined {
  const [x, y] = [parameters.get(EC2_X), parameters.get(EC2_Y)];
  if (parameters.size !== 5 || parameters.get(EC2_CRV) !== CRV_P256) return undefined;
  if (!isCoordinate(x) || !isCoordinate(y)) return undefined;
  const jwk = { kty: "EC", crv: "P-256", x: base64Url(x), y: base64Url(y) };
  return { algorithm: ES256, key: createPublicKey({ format: "jwk", key: jwk }) };
}

function isCoordinate(value: unknown): value is Uint8Array {
  return value instanceof Uint8Array && value.length === COORDINATE_BYTES;
}

function importRsa(parameters: Map<unknown, unknown>): CosePublicKey | undefined {
  const [n, e] = [parameters.get(RSA_N), parameters.get(RSA_E)];
  if (parameters.size !== 4 || !isOddInteger(n) || !isOddInteger(e)) return undefined;
  const modulusBits = n.length * 8 - Math.clz32(n[0] ?? 0) + 24;
  if (modulusBits < MIN_MODULUS_BITS || modulusBits > MAX_MODULUS_BITS) return undefined;
  const isOne = e.length === 1 && e[0] === 1;
  if (isOne || e.length > MAX_EXPONENT_BYTES) return undefined;
  const jwk = { kty: "RSA", n: base64Url(n), e: base64Url(e) };
  return { algorithm: RS256, key: createPublicKey({ format: "jwk", key: jwk }) };
}

/** Big-endian without leading zeros, as RFC 8230 section 4 requires; both RSA numbers are odd. */
function isOddInteger(value: unknown): value is Uint8Array {
  return value instanceof Uint8Array && value[0] !== 0 && (value.at(-1) ?? 0) % 2 === 1;
}

function base64Url(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64url");
}
