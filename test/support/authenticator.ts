import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";
import { encode } from "cborg";
import { attestationCertificate } from "./attestation-certificate.ts";

export type AuthenticatorAlgorithm = "ES256" | "RS256";
export type AttestationFormat = "none" | "packed-self" | "packed-x5c";

/** The `attestation` object of the API. */
export type AttestationParameters = {
  credentialId: string;
  clientDataJson: string;
  attestationObject: string;
  transports: string[];
};

/** What a test may get wrong on purpose. Every hook receives the right value and returns the one to use. */
export type Faults = {
  clientData?: (fields: Record<string, unknown>) => Record<string, unknown>;
  clientDataJson?: (json: Buffer) => Buffer;
  flags?: (flags: number) => number;
  authenticatorData?: (bytes: Buffer) => Buffer;
  signature?: (bytes: Buffer) => Buffer;
  attestedCredentialId?: (bytes: Buffer) => Buffer;
  publicKey?: (cose: Buffer) => Buffer;
  statement?: (fields: Record<string, unknown>) => Record<string, unknown>;
  attestationObject?: (fields: Record<string, unknown>) => Record<string, unknown>;
};

export type AttestOptions = {
  /** Bytes, or text of which the UTF-8 bytes are taken. */
  challenge: string | Uint8Array;
  origin: string;
  rpId: string;
  format?: AttestationFormat;
  faults?: Faults;
};

export type AssertOptions = { body: string | Uint8Array; origin: string; rpId: string; faults?: Faults };

export type AnswerOptions = { challenge: Uint8Array; origin: string; rpId: string; faults?: Faults };

/** The answer to a challenge, each part base64url. */
export type Assertion = Record<"authenticatorData" | "clientDataJson" | "credentialId" | "signature", string>;

/** A passkey in software: one credential, a counter, no user verification. */
export type SoftwareAuthenticator = {
  /** Unpadded base64url. */
  credentialId: string;
  /** COSE_Key. */
  publicKey: Buffer;
  attest(options: AttestOptions): AttestationParameters;
  /** What a page is given that asks for an answer to a challenge of its own. */
  answer(options: AnswerOptions): Assertion;
  /** The value of an `X-Stamp-WebAuthn` header. */
  assert(options: AssertOptions): string;
};

const AAGUID = Buffer.from("5e0c1f7ad2b84b6e9a3147c2d08f6b11", "hex");
const USER_PRESENT = 0x01;
const ATTESTED_CREDENTIAL = 0x40;
const COSE_ALGORITHM = { ES256: -7, RS256: -257 };

/** Makes a credential; a given key pair and credential ID replace the fresh ones. */
export function createAuthenticator(
  algorithm: AuthenticatorAlgorithm = "ES256",
  keys: { publicKey: KeyObject; privateKey: KeyObject } = generateKeys(algorithm),
  credentialId: Buffer = randomBytes(32),
): SoftwareAuthenticator {
  const publicKey = encodeCoseKey(keys.publicKey);
  let signCount = 0;

  const authenticatorData = (rpId: string, flags: number, attested: Buffer, faults: Faults): Buffer => {
    const count = Buffer.alloc(4);
    count.writeUInt32BE(++signCount);
    const wanted = faults.flags?.(flags) ?? flags;
    const bytes = Buffer.concat([sha256(rpId), Buffer.of(wanted), count, attested]);
    return faults.authenticatorData?.(bytes) ?? bytes;
  };
  const signBytes = (bytes: Buffer, key: KeyObject, faults: Faults): Buffer => {
    const signature = sign("sha256", bytes, key);
    return faults.signature?.(signature) ?? signature;
  };

  const answer = ({ challenge, origin, rpId, faults = {} }: AnswerOptions): Assertion => {
    const clientData = clientDataJson("webauthn.get", Buffer.from(challenge), origin, faults);
    const authData = authenticatorData(rpId, USER_PRESENT, Buffer.alloc(0), faults);
    const signature = signBytes(Buffer.concat([authData, sha256(clientData)]), keys.privateKey, faults);
    return {
      authenticatorData: authData.toString("base64url"),
      clientDataJson: clientData.toString("base64url"),
      credentialId: credentialId.toString("base64url"),
      signature: signature.toString("base64url"),
    };
  };

  return {
    credentialId: credentialId.toString("base64url"),
    publicKey,
    attest({ challenge, origin, rpId, format = "none", faults = {} }) {
      const clientData = clientDataJson("webauthn.create", Buffer.from(challenge), origin, faults);
      const id = faults.attestedCredentialId?.(credentialId) ?? credentialId;
      const cose = faults.publicKey?.(publicKey) ?? publicKey;
      const idLength = Buffer.alloc(2);
      idLength.writeUInt16BE(id.length);
      const attested = Buffer.concat([AAGUID, idLength, id, cose]);
      const authData = authenticatorData(rpId, USER_PRESENT | ATTESTED_CREDENTIAL, attested, faults);
      const signed = Buffer.concat([authData, sha256(clientData)]);
      const made = makeStatement(format, algorithm, keys.privateKey, (key) => signBytes(signed, key, faults));
      const attStmt = faults.statement?.(made) ?? made;
      const fields = { fmt: format === "none" ? "none" : "packed", attStmt, authData };
      return {
        credentialId: credentialId.toString("base64url"),
        clientDataJson: clientData.toString("base64url"),
        attestationObject: Buffer.from(encode(faults.attestationObject?.(fields) ?? fields)).toString("base64url"),
        transports: ["AUTHENTICATOR_TRANSPORT_INTERNAL"],
      };
    },
    answer,
    assert: ({ body, ...options }) =>
      JSON.stringify(answer({ ...options, challenge: Buffer.from(sha256(body).toString("hex")) })),
  };
}

/** RSA keys get `modulusBits`. */
export function generateKeys(algorithm: AuthenticatorAlgorithm, modulusBits = 2048) {
  return algorithm === "ES256"
    ? generateKeyPairSync("ec", { namedCurve: "P-256" })
    : generateKeyPairSync("rsa", { modulusLength: modulusBits });
}

/** COSE_Key of a P-256 or RSA public key. */
export function encodeCoseKey(publicKey: KeyObject): Buffer {
  const { kty, x = "", y = "", n = "", e = "" } = publicKey.export({ format: "jwk" });
  const bytes = (text: string) => Buffer.from(text, "base64url");
  const parameters: [number, number | Buffer][] =
    kty === "EC"
      ? [
          [1, 2],
          [3, -7],
          [-1, 1],
          [-2, bytes(x)],
          [-3, bytes(y)],
        ]
      : [
          [1, 3],
          [3, -257],
          [-1, bytes(n)],
          [-2, bytes(e)],
        ];
  return Buffer.from(encode(new Map(parameters)));
}

function makeStatement(
  format: AttestationFormat,
  algorithm: AuthenticatorAlgorithm,
  ownKey: KeyObject,
  signWith: (key: KeyObject) => Buffer,
): Record<string, unknown> {
  if (format === "none") return {};
  if (format === "packed-self") return { alg: COSE_ALGORITHM[algorithm], sig: signWith(ownKey) };
  const maker = generateKeys("ES256");
  return { alg: COSE_ALGORITHM.ES256, sig: signWith(maker.privateKey), x5c: [attestationCertificate(maker, AAGUID)] };
}

function clientDataJson(type: string, challenge: Buffer, origin: string, faults: Faults): Buffer {
  const fields = { type, challenge: challenge.toString("base64url"), origin, crossOrigin: false };
  const json = Buffer.from(JSON.stringify(faults.clientData?.(fields) ?? fields));
  return faults.clientDataJson?.(json) ?? json;
}

function sha256(data: string | Uint8Array): Buffer {
  return createHash("sha256").update(data).digest();
}
