import { constants, hash } from "node:crypto";
import { bytesFromAnyBase64 } from "../kernel/bytes.ts";
import { fail } from "../kernel/errors.ts";
import { MAX_CREDENTIAL_ID_BYTES, MAX_STAMP_BYTES } from "../kernel/limits.ts";
import { type CosePublicKey, parseCosePublicKey } from "./cose-key.ts";
import { P256_ORDER, parseEcdsaDer } from "./ecdsa-der.ts";
import { parseJsonObject, stringField } from "./json-object.ts";
import { verifySignature } from "./verify-signature.ts";
import { bytesFromPaddedBase64Url, isAllowedOrigin, parseAuthenticatorData, parseClientData } from "./webauthn-data.ts";

/** A well-formed passkey stamp whose assertion has not been verified yet. */
export type WebAuthnStamp = {
  /** Unpadded base64url. */
  credentialId: string;
  authenticatorData: Buffer;
  clientDataJson: Buffer;
  signature: Buffer;
};

/** The stored data of the passkey that a stamp names. */
export type WebAuthnCredential = {
  /** COSE_Key. */
  publicKey: Buffer;
  /** SHA-256 of the relying party's ID, as seen at registration. */
  rpIdHash: Buffer;
  /** Undefined = any. */
  allowedOrigins?: readonly string[] | undefined;
};

/**
 * Reads an `X-Stamp-WebAuthn` header: the JSON object {authenticatorData, clientDataJson, credentialId, signature}, whose values are
 * base64url with or without padding. It may be sent unencoded or in base64 or base64url. Other fields are ignored.
 *
 * @throws KeysteadError WEBAUTHN_STAMP_MALFORMED
 */
export function decodeWebAuthnStamp(header: string): WebAuthnStamp {
  if (header.length > MAX_STAMP_BYTES) return refuseStamp(`it is larger than ${MAX_STAMP_BYTES} bytes`);
  const isPlain = header.trimStart().startsWith("{");
  const json = isPlain ? Buffer.from(header) : bytesFromAnyBase64(header);
  if (!json) return refuseStamp("it is neither a JSON object nor base64 of one");
  const fields = parseJsonObject(json, refuseStamp);
  const credentialId = bytesField(fields, "credentialId");
  if (credentialId.length > MAX_CREDENTIAL_ID_BYTES) {
    return refuseStamp(`\`credentialId\` is longer than ${MAX_CREDENTIAL_ID_BYTES} bytes`);
  }
  return {
    credentialId: credentialId.toString("base64url"),
    authenticatorData: bytesField(fields, "authenticatorData"),
    clientDataJson: bytesField(fields, "clientDataJson"),
    signature: bytesField(fields, "signature"),
  };
}

function bytesField(fields: Record<string, unknown>, name: string): Buffer {
  const bytes = bytesFromPaddedBase64Url(stringField(fields, name, refuseStamp));
  if (!bytes) return refuseStamp(`\`${name}\` is not base64url`);
  return bytes.length > 0 ? bytes : refuseStamp(`\`${name}\` is empty`);
}

function refuseStamp(reason: string): never {
  fail("WEBAUTHN_STAMP_MALFORMED", { reason });
}

/**
 * Verifies a passkey's assertion over a request body (WebAuthn Level 3, section 7.2). The challenge is the 64 ASCII bytes of the lowercase
 * hex SHA-256 of the body. User verification is not required, and signature counters are not compared, because synchronized passkeys have
 * none.
 *
 * @param body the raw request body as received
 * @throws KeysteadError WEBAUTHN_SIGNATURE_INVALID
 */
export async function verifyWebAuthnStamp(
  stamp: WebAuthnStamp,
  body: Uint8Array,
  credential: WebAuthnCredential,
): Promise<void> {
  checkClientData(stamp.clientDataJson, body, credential.allowedOrigins);
  checkAuthenticatorData(stamp.authenticatorData, credential.rpIdHash);
  const publicKey = parseCosePublicKey(credential.publicKey);
  if (!publicKey) return refuseAssertion("the credential's public key is not a usable ES256 or RS256 key");
  const signed = Buffer.concat([stamp.authenticatorData, hash("sha256", stamp.clientDataJson, "buffer")]);
  if (!(await isSignedBy(publicKey, signed, stamp.signature))) {
    return refuseAssertion("the signature does not match the credential's public key");
  }
}

/**
 * The part of the verification that stays valid over time: that the key with this COSE_Key signed the body. Origin and relying party were
 * checked against the rules in force at that time.
 *
 * @throws KeysteadError WEBAUTHN_SIGNATURE_INVALID
 */
export function verifyRecordedAssertion(
  stamp: Omit<WebAuthnStamp, "credentialId">,
  body: Uint8Array,
  coseKey: Buffer,
): Promise<void> {
  const rpIdHash = parseAuthenticatorData(stamp.authenticatorData)?.rpIdHash ?? Buffer.alloc(0);
  return verifyWebAuthnStamp({ ...stamp, credentialId: "" }, body, { publicKey: coseKey, rpIdHash });
}

function checkClientData(json: Buffer, body: Uint8Array, allowedOrigins: readonly string[] | undefined): void {
  const clientData = parseClientData(json, (reason) => refuseAssertion(`client data: ${reason}`));
  if (clientData.type !== "webauthn.get") refuseAssertion("the client data's `type` is not webauthn.get");
  if (clientData.challenge !== challengeFor(body)) {
    refuseAssertion("the client data's `challenge` is not the SHA-256 of the request body");
  }
  if (!isAllowedOrigin(clientData.origin, allowedOrigins)) {
    refuseAssertion("the client data's `origin` is not allowed for the organization");
  }
}

function challengeFor(body: Uint8Array): string {
  return Buffer.from(hash("sha256", body, "hex"), "latin1").toString("base64url");
}

function checkAuthenticatorData(bytes: Buffer, rpIdHash: Buffer): void {
  const data = parseAuthenticatorData(bytes);
  if (!data) refuseAssertion("the authenticator data is malformed");
  if (!data.rpIdHash.equals(rpIdHash)) {
    refuseAssertion("the authenticator data names another relying party than the credential was registered for");
  }
  if (!data.userPresent) refuseAssertion("the authenticator data's user-present flag is not set");
}

async function isSignedBy(publicKey: CosePublicKey, data: Buffer, signature: Buffer): Promise<boolean> {
  const { algorithm, key } = publicKey;
  if (algorithm === -257) {
    return verifySignature("sha256", data, { key, padding: constants.RSA_PKCS1_PADDING }, signature);
  }
  if (!parseEcdsaDer(signature, P256_ORDER)) return false;
  return verifySignature("sha256", data, key, signature);
}

function refuseAssertion(reason: string): never {
  fail("WEBAUTHN_SIGNATURE_INVALID", { reason });
}
