/**
 * What the server may ask the signer, as one closed union. Bytes travel as base64. The version is checked when the signer
 * is opened, so that a server never talks to a signer of another release.
 */
export const PROTOCOL_VERSION = 1;

export type Curve = "CURVE_SECP256K1" | "CURVE_ED25519" | "CURVE_P256";

/** How the payload becomes what is signed; `none` signs a 32-byte digest (ECDSA) or the message itself (Ed25519). */
export type SignerHash = "none" | "sha256" | "keccak256";

/** base64 of bytes that only a signer with the root key can open. */
export type Sealed = string;

export interface OpenRequest {
  verb: "open";
  protocolVersion: number;
  rootKeyFile: string;
  passphrase?: string;
  /** Make the root key if there is no file yet. */
  mayCreate: boolean;
}
export type OpenResponse = { state: "open"; rootKeyId: string; created: boolean } | { state: "sealed" };

export interface CreateOrganizationKeyRequest {
  verb: "createOrganizationKey";
  organizationId: string;
}
export interface CreateOrganizationKeyResponse {
  organizationKey: Sealed;
}

export interface GenerateKeysRequest {
  verb: "generateKeys";
  organizationId: string;
  organizationKey: Sealed;
  keys: { keyId: string; curve: Curve }[];
}
export interface GenerateKeysResponse {
  /** In the order asked; `publicKey` is lowercase hex, compressed for the EC curves. */
  keys: { sealedKey: Sealed; publicKey: string }[];
}

export interface SignRequest {
  verb: "sign";
  organizationId: string;
  organizationKey: Sealed;
  keyId: string;
  curve: Curve;
  sealedKey: Sealed;
  hash: SignerHash;
  /** base64 of the bytes to hash and sign. */
  payloads: string[];
}
export interface SignResponse {
  /** In the order asked; r and s are 64 lowercase hex digits, v is "00" or "01". */
  signatures: { r: string; s: string; v: string }[];
}

export type SignerRequest = OpenRequest | CreateOrganizationKeyRequest | GenerateKeysRequest | SignRequest;

export interface Responses {
  open: OpenResponse;
  createOrganizationKey: CreateOrganizationKeyResponse;
  generateKeys: GenerateKeysResponse;
  sign: SignResponse;
}

/** `fault` says which kind of trouble; its text holds no secret and may be logged and shown to an operator. */
export type SignerFault = { kind: "sealed" | "refused" | "internal"; message: string };

export type RequestFrame = { id: number; request: SignerRequest };
export type ResponseFrame = { id: number; response: unknown } | { id: number; fault: SignerFault };
