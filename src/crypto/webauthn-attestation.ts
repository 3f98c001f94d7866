import { decode, encode } from "cborg";
import { fail } from "../kernel/errors.ts";
import { MAX_ATTESTATION_LENGTH, MAX_CREDENTIAL_ID_BYTES } from "../kernel/limits.ts";
import { CTAP2_CBOR, parseCosePublicKey } from "./cose-key.ts";
import { P256_ORDER, parseEcdsaDer } from "./ecdsa-der.ts";
import {
  type AttestedCredential,
  type AuthenticatorData,
  bytesFromPaddedBase64Url,
  type ClientData,
  isAllowedOrigin,
  parseAuthenticatorData,
  parseClientData,
} from "./webauthn-data.ts";

/** A registration as clients send it; the three parts are base64url with or without padding. */
export type Attestation = {
  /** base64url of the challenge's bytes, or the challenge itself, as some clients send it. */
  challenge: string;
  /** Of the bytes, or of a byte string in CBOR. */
  credentialId: string;
  clientDataJson: string;
  attestationObject: string;
  /** The path of the attestation in the request, such as `authenticators.0.attestation`. `challenge` is next to it. */
  field: string;
  /** Undefined = any. */
  allowedOrigins?: readonly string[] | undefined;
};

/** A passkey to store. */
export type RegisteredCredential = {
  /** Unpadded base64url. */
  credentialId: string;
  /** COSE_Key, byte for byte as written by the authenticator. */
  publicKey: Buffer;
  /** UUID of the authenticator's model; all zeros if the authenticator does not reveal it. */
  aaguid: string;
  attestationType: "none" | "packed";
  /** SHA-256 of the relying party's ID. */
  rpIdHash: Buffer;
  origin: string;
  signCount: number;
};

type AttestationObject = {
  format: "none" | "packed";
  statement: Map<unknown, unknown>;
  authenticatorData: AuthenticatorData;
  credential: AttestedCredential;
};

/** Rejects, naming the faulty part. */
type RefusePart = (part: "credentialId" | "clientDataJson" | "attestationObject", reason: string) => never;

const ES256 = -7;
const RS256 = -257;

/**
 * Verifies the registration of a passkey (WebAuthn Level 3, section 7.1) with attestation `none` or `packed` and an ES256 or RS256 key.
 * User verification is not required, and certificates are not traced to a root, so `packed` proves possession of the key, but not the make
 * of the authenticator.
 *
 * @throws KeysteadError ATTESTATION_INVALID
 */
export async function verifyAttestation(attestation: Attestation): Promise<RegisteredCredential> {
  const { field } = attestation;
  const refuse: RefusePart = (part, reason) => fail("ATTESTATION_INVALID", { field: `${field}.${part}`, reason });
  const sentId = decodePart(attestation, "credentialId", refuse);
  const clientDataJson = decodePart(attestation, "clientDataJson", refuse);
  const attestationObject = decodePart(attestation, "attestationObject", refuse);
  const clientData = checkClientData(clientDataJson, attestation, refuse);
  const parsed = checkAttestationObject(attestationObject, sentId, refuse);
  const { credentialId } = parsed.credential;
  if (!(await isStatementValid(credentialId, clientDataJson, attestationObject, clientData))) {
    refuse("attestationObject", "holds an attestation statement that does not verify");
  }
  return {
    credentialId: credentialId.toString("base64url"),
    publicKey: Buffer.from(parsed.credential.publicKey),
    aaguid: uuidText(parsed.credential.aaguid),
    attestationType: parsed.format,
    rpIdHash: Buffer.from(parsed.authenticatorData.rpIdHash),
    origin: clientData.origin,
    signCount: parsed.authenticatorData.signCount,
  };
}

/** The passkey in a registration that was verified before, in its stored form; undefined if it is not a registration. */
export function readRegistration({
  attestationObject,
}: Pick<Attestation, "attestationObject">): Pick<RegisteredCredential, "credentialId" | "publicKey"> | undefined {
  const object = bytesFromPaddedBase64Url(attestationObject);
  const data = object && decodeMap(object)?.get("authData");
  const credential = data instanceof Uint8Array ? parseAuthenticatorData(Buffer.from(data))?.attested : undefined;
  return (
    credential && {
      credentialId: Buffer.from(credential.credentialId).toString("base64url"),
      publicKey: Buffer.from(credential.publicKey),
    }
  );
}

function decodePart(
  attestation: Attestation,
  part: "credentialId" | "clientDataJson" | "attestationObject",
  refuse: RefusePart,
): Buffer {
  const text = attestation[part];
  if (text.length > MAX_ATTESTATION_LENGTH) return refuse(part, `is longer than ${MAX_ATTESTATION_LENGTH} characters`);
  const bytes = bytesFromPaddedBase64Url(text);
  if (!bytes) return refuse(part, "is not base64url");
  return bytes.length > 0 ? bytes : refuse(part, "is empty");
}

function checkClientData(json: Buffer, attestation: Attestation, refuse: RefusePart): ClientData {
  const clientData = parseClientData(json, (reason) => refuse("clientDataJson", `is malformed: ${reason}`));
  if (clientData.type !== "webauthn.create") refuse("clientDataJson", "has a `type` other than webauthn.create");
  if (!isSameChallenge(attestation.challenge, clientData.challenge)) {
    const beside = attestation.field.slice(0, attestation.field.lastIndexOf(".") + 1);
    fail("ATTESTATION_INVALID", { field: `${beside}challenge`, reason: "is not the challenge of the client data" });
  }
  if (!isAllowedOrigin(clientData.origin, attestation.allowedOrigins)) {
    refuse("clientDataJson", "has an `origin` that is not allowed for the organization");
  }
  return clientData;
}

function isSameChallenge(sent: string, ofClient: string): boolean {
  const challenge = withoutPadding(ofClient);
  if (challenge === "") return false;
  return withoutPadding(sent) === challenge || Buffer.from(sent).toString("base64url") === challenge;
}

function withoutPadding(text: string): string {
  return text.replace(/={1,2}$/, "");
}

function checkAttestationObject(bytes: Buffer, sentId: Buffer, refusePart: RefusePart): AttestationObject {
  const refuse = (reason: string): never => refusePart("attestationObject", reason);
  const parsed = parseAttestationObject(bytes, refuse);
  const { authenticatorData, credential } = parsed;
  if (!authenticatorData.userPresent) return refuse("lacks the user-present flag");
  if (credential.credentialId.length > MAX_CREDENTIAL_ID_BYTES) {
    return refusePart("credentialId", `is longer than ${MAX_CREDENTIAL_ID_BYTES} bytes`);
  }
  if (!isIdOf(credential, sentId)) {
    return refusePart("credentialId", "is not the credential ID of the attestation object");
  }
  const publicKey = parseCosePublicKey(credential.publicKey);
  if (!publicKey) return refuse("holds a public key that is not a usable ES256 or RS256 key");
  if (parsed.format === "packed") checkPackedStatement(parsed.statement, publicKey.algorithm, refuse);
  return parsed;
}

/** The documentation has the ID as a byte string in CBOR; browsers and the published clients have its bytes. */
const isIdOf = ({ credentialId }: AttestedCredential, sent: Buffer): boolean =>
  sent.equals(credentialId) || sent.equals(encode(credentialId));

/** WebAuthn Level 3, section 6.5.4. */
function parseAttestationObject(bytes: Buffer, refuse: (reason: string) => never): AttestationObject {
  const object = decodeMap(bytes);
  const [format, statement, data] = [object?.get("fmt"), object?.get("attStmt"), object?.get("authData")];
  if (typeof format !== "string" || !(statement instanceof Map) || !(data instanceof Uint8Array)) {
    return refuse("is not a CBOR map of fmt, attStmt and authData");
  }
  if (format !== "none" && format !== "packed") return refuse("has an attestation format other than none and packed");
  const authenticatorData = parseAuthenticatorData(Buffer.from(data));
  if (!authenticatorData) return refuse("holds malformed authenticator data");
  const credential = authenticatorData.attested;
  if (!credential) return refuse("holds no attested credential data");
  return { format, statement, authenticatorData, credential };
}

function decodeMap(bytes: Buffer): Map<unknown, unknown> | undefined {
  try {
    const value: unknown = decode(bytes, CTAP2_CBOR);
    return value instanceof Map ? value : undefined;
  } catch {
    return undefined;
  }
}

/** The checks of WebAuthn Level 3, section 8.2, that the library does not make: the algorithm of self attestation, and ECDAA. */
function checkPackedStatement(
  statement: Map<unknown, unknown>,
  algorithm: number,
  refuse: (reason: string) => never,
): void {
  if (statement.has("ecdaaKeyId")) refuse("has an ECDAA attestation statement");
  if (statement.has("x5c")) {
    // The library treats a falsy value as absent, and would then verify a self attestation.
    if (!Array.isArray(statement.get("x5c"))) refuse("has a certificate chain that is not a list");
    return;
  }
  if (statement.get("alg") !== algorithm) refuse("has a self attestation with another algorithm than its public key");
  const signature = statement.get("sig");
  if (!(signature instanceof Uint8Array)) refuse("has an attestation statement without signature");
  else if (algorithm === ES256 && !parseEcdsaDer(signature, P256_ORDER)) {
    refuse("has an attestation signature that is not strict DER");
  }
}

/**
 * Lets the library verify the statement itself. It is loaded at the first registration, because its ASN.1 modules would slow down the
 * start. It gets the bytes checked above as canonical base64url.
 */
async function isStatementValid(
  credentialId: Buffer,
  clientDataJson: Buffer,
  attestationObject: Buffer,
  clientData: ClientData,
): Promise<boolean> {
  const { verifyRegistrationResponse } = await import("@simplewebauthn/server");
  const id = credentialId.toString("base64url");
  try {
    const { verified } = await verifyRegistrationResponse({
      response: {
        id,
        rawId: id,
        type: "public-key",
        clientExtensionResults: {},
        response: {
          clientDataJSON: clientDataJson.toString("base64url"),
          attestationObject: attestationObject.toString("base64url"),
        },
      },
      expectedChallenge: clientData.challenge,
      expectedOrigin: clientData.origin,
      requireUserVerification: false,
      supportedAlgorithmIDs: [ES256, RS256],
    });
    return verified;
  } catch {
    // The library's messages are about its internals; the client learns which part failed.
    return false;
  }
}

function uuidText(bytes: Buffer): string {
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
