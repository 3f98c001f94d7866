import { decodeFirst } from "cborg";
import { bytesFromBase64Url } from "../kernel/bytes.ts";
import { CTAP2_CBOR } from "./cose-key.ts";
import { parseJsonObject, type Refuse, stringField } from "./json-object.ts";

/** The browser's record of its request to the authenticator (WebAuthn Level 3, section 5.8.1). */
export type ClientData = { type: string; challenge: string; origin: string };

/** Authenticator data (WebAuthn Level 3, section 6.1). */
export type AuthenticatorData = {
  /** SHA-256 of the relying party's ID. */
  rpIdHash: Buffer;
  userPresent: boolean;
  signCount: number;
  /** Only present in a registration. */
  attested: AttestedCredential | undefined;
};

/** Attested credential data (WebAuthn Level 3, section 6.5.1). */
export type AttestedCredential = {
  /** 16 bytes that identify the authenticator's model. */
  aaguid: Buffer;
  credentialId: Buffer;
  /** COSE_Key. */
  publicKey: Buffer;
};

const USER_PRESENT = 0x01;
const BACKUP_ELIGIBLE = 0x08;
const BACKED_UP = 0x10;
const ATTESTED_CREDENTIAL = 0x40;
const EXTENSIONS = 0x80;
const HEADER_BYTES = 37;
const AAGUID_BYTES = 16;

/** The bytes of base64url with or without padding, otherwise canonical; undefined for any other text. */
export function bytesFromPaddedBase64Url(text: string): Buffer | undefined {
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  if (padding > 0 && text.length % 4 !== 0) return undefined;
  return bytesFromBase64Url(text.slice(0, text.length - padding));
}

/** Parses clientDataJSON as strictly as a request body; every error goes to `refuse`. */
export function parseClientData(bytes: Uint8Array, refuse: Refuse): ClientData {
  const fields = parseJsonObject(bytes, refuse);
  return {
    type: stringField(fields, "type", refuse),
    challenge: stringField(fields, "challenge", refuse),
    origin: stringField(fields, "origin", refuse),
  };
}

/**
 * @param allowed undefined = any
 * @returns whether requests may come from this origin, compared exactly
 */
export function isAllowedOrigin(origin: string, allowed: readonly string[] | undefined): boolean {
  return allowed === undefined || allowed.includes(origin);
}

/** A credential id in its canonical form, unpadded base64url; otherwise undefined. */
export const normalizeCredentialId = (text: string): string | undefined =>
  bytesFromPaddedBase64Url(text)?.toString("base64url");

const ANDROID_ORIGIN = /^android:apk-key-hash:[A-Za-z0-9_-]{20,100}$/;

/**
 * The origins in a comma-separated text. Each must be the origin of an https page, of http://localhost, or of an Android app
 * (`android:apk-key-hash:…`). Undefined if one is none of these.
 */
export function parseOrigins(text: string): string[] | undefined {
  const origins = text.split(",").map((part) => part.trim());
  return origins.every(isOrigin) ? origins : undefined;
}

function isOrigin(text: string): boolean {
  if (ANDROID_ORIGIN.test(text)) return true;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.origin !== text) return false;
  return url.protocol === "https:" || (url.protocol === "http:" && url.hostname === "localhost");
}

/**
 * Reads authenticator data. It must contain exactly the parts that its flags announce, and a valid combination of flags: a passkey that is
 * not eligible for backup cannot be backed up (section 6.1.3). Otherwise undefined.
 */
export function parseAuthenticatorData(bytes: Buffer): AuthenticatorData | undefined {
  if (bytes.length < HEADER_BYTES) return undefined;
  const flags = bytes.readUInt8(32);
  if (flags & BACKED_UP && !(flags & BACKUP_ELIGIBLE)) return undefined;
  const header = {
    rpIdHash: bytes.subarray(0, 32),
    userPresent: (flags & USER_PRESENT) !== 0,
    signCount: bytes.readUInt32BE(33),
  };
  try {
    let rest = bytes.subarray(HEADER_BYTES);
    let attested: AttestedCredential | undefined;
    if (flags & ATTESTED_CREDENTIAL) [attested, rest] = readAttestedCredential(rest);
    if (flags & EXTENSIONS) rest = readMap(rest)[1];
    return rest.length === 0 ? { ...header, attested } : undefined;
  } catch {
    return undefined;
  }
}

/** @throws if a part is truncated or is not CBOR */
function readAttestedCredential(bytes: Buffer): [AttestedCredential, Buffer] {
  const start = AAGUID_BYTES + 2;
  const end = start + bytes.readUInt16BE(AAGUID_BYTES);
  const credentialId = bytes.subarray(start, end);
  const [publicKey, rest] = readMap(bytes.subarray(end));
  return [{ aaguid: bytes.subarray(0, AAGUID_BYTES), credentialId, publicKey }, rest];
}

/** Splits `bytes` after the CBOR map at the beginning. */
function readMap(bytes: Buffer): [Buffer, Buffer] {
  const [value, rest] = decodeFirst(bytes, CTAP2_CBOR);
  if (!(value instanceof Map)) throw new TypeError("not a map");
  const length = bytes.length - rest.length;
  return [bytes.subarray(0, length), bytes.subarray(length)];
}
