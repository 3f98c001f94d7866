import type { AddressFormat } from "../crypto/addresses.ts";
import type { Curve } from "../crypto/curves.ts";
import type { MnemonicLanguage, MnemonicLength } from "../crypto/mnemonic-languages.ts";

/**
 * What the server may ask the signer, as one closed union. Bytes travel as base64. The version is checked when the signer
 * is opened, so that a server never talks to a signer of another release.
 */
export const PROTOCOL_VERSION = 9;

export type { Curve };

/** How the payload becomes what is signed; `none` signs a 32-byte digest (ECDSA) or the message itself (Ed25519). */
export type SignerHash = "none" | "sha256" | "keccak256";

/** base64 of bytes that only a signer with the root key can open. */
export type Sealed = string;

/** The owner of the installation's own keys and secrets; no organization can have its form of name. */
export const INSTALLATION = "service";

/** A key to sign with or to export: one that is stored alone, or derived from a wallet's seed. */
export type KeyReference = (
  | { kind: "privateKey"; keyId: string; curve: Curve; sealedKey: Sealed }
  | { kind: "walletAccount"; walletId: string; sealedWallet: Sealed; curve: Curve; path: string }
) & {
  /** The address that it was named by. The signer refuses one that is not the key's. */
  address?: NamedAddress;
};
export interface NamedAddress {
  format: AddressFormat;
  address: string;
}

/**
 * What a key of an organization is used or made for: an activity, as its users stamped it. The signer holds every request
 * against it.
 */
export interface Occasion {
  /** The stamped body of the activity, as it came. */
  body: string;
  /** What was planned when it was submitted, for operations that plan. */
  plan?: unknown;
  /** Every stamp that approves it. */
  ballots: StampedBallot[];
}
export interface StampedBallot {
  userId: string;
  /** What was stamped; absent where that is the activity's body. */
  message?: string;
  publicKey: string;
  scheme: string;
  signature: string;
  /** What a passkey signed beside the message. */
  assertion?: string;
}

/**
 * Absent: the curve's ordinary scheme (ECDSA, EdDSA). `bip340`: Schnorr with the key as it is. `bip340Taproot`: Schnorr
 * with the key-path tweak of BIP-341 for an output without script tree. Both take secp256k1 keys alone.
 */
export type Scheme = "bip340" | "bip340Taproot";

/** Which key of a wallet; `path` is one that `pathProblem` finds no problem with. */
export interface AccountReference {
  curve: Curve;
  path: string;
}

/** An HPKE message (RFC 9180, base mode) in hex; `encappedPublic` is an uncompressed P-256 point. */
export interface HpkeMessage {
  encappedPublic: string;
  ciphertext: string;
}

/**
 * Why an import was not taken: no target key opens the bundle; the words are no BIP-39 mnemonic; the bytes are no secret
 * of the curve; the plaintext is over its limit.
 */
export type ImportProblem = "undecryptable" | "invalidMnemonic" | "invalidKey" | "tooLarge";

export interface OpenRequest {
  verb: "open";
  protocolVersion: number;
  rootKeyFile: string;
  passphrase?: string;
  /** Make the root key if there is no file yet. */
  mayCreate: boolean;
  /** How many secrets of wallets are kept open, and how long each; 0 of either keeps none. */
  seedCache: { entries: number; lifetimeMs: number };
  /** Whether each use of a key is told on the signer's standard error. */
  recordUses: boolean;
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
  key: KeyReference;
  scheme?: Scheme;
  hash: SignerHash;
  /** base64 of the bytes to hash and sign. */
  payloads: string[];
}
export interface SignResponse {
  /** In the order asked; r and s are 64 lowercase hex digits, v is "00" or "01". */
  signatures: { r: string; s: string; v: string }[];
}

export interface CreateWalletRequest {
  verb: "createWallet";
  organizationId: string;
  organizationKey: Sealed;
  walletId: string;
  mnemonicLength: MnemonicLength;
  accounts: AccountReference[];
}
export interface CreateWalletResponse {
  sealedWallet: Sealed;
  /** In the order asked; each as generateKeys gives them. */
  publicKeys: string[];
}

export interface DeriveAccountsRequest {
  verb: "deriveAccounts";
  organizationId: string;
  organizationKey: Sealed;
  walletId: string;
  sealedWallet: Sealed;
  accounts: AccountReference[];
}
export interface DeriveAccountsResponse {
  /** In the order asked; each as generateKeys gives them. */
  publicKeys: string[];
}

export interface CreateImportKeysRequest {
  verb: "createImportKeys";
  organizationId: string;
  organizationKey: Sealed;
  importIds: string[];
}
export interface CreateImportKeysResponse {
  /** In the order asked; `targetPublicKey` is an uncompressed P-256 point in lowercase hex. */
  importKeys: { sealedImportKey: Sealed; targetPublicKey: string }[];
}

/** What every import is asked with; the answer names the import key that opened the bundle. */
interface ImportRequest {
  organizationId: string;
  organizationKey: Sealed;
  /** The keys that the bundle may be encrypted to; they are tried in this order. */
  importKeys: { importId: string; sealedImportKey: Sealed }[];
  bundle: HpkeMessage;
}

export interface ImportWalletRequest extends ImportRequest {
  verb: "importWallet";
  walletId: string;
  accounts: AccountReference[];
}
export type ImportWalletResponse =
  | { importId: string; sealedWallet: Sealed; publicKeys: string[] }
  | { problem: ImportProblem };

export interface ImportPrivateKeyRequest extends ImportRequest {
  verb: "importPrivateKey";
  keyId: string;
  curve: Curve;
}
export type ImportPrivateKeyResponse =
  | { importId: string; sealedKey: Sealed; publicKey: string }
  | { problem: ImportProblem };

export interface ImportSecretRequest extends ImportRequest {
  verb: "importSecret";
  secretId: string;
}
export type ImportSecretResponse = { importId: string; sealedSecret: Sealed } | { problem: ImportProblem };

/** What every export is asked with: `targetPublicKey` is a P-256 point in hex, compressed or not. */
interface ExportRequest {
  organizationId: string;
  organizationKey: Sealed;
  targetPublicKey: string;
}

export interface ExportWalletRequest extends ExportRequest {
  verb: "exportWallet";
  walletId: string;
  sealedWallet: Sealed;
  /**
   * Absent: the words as they are. Given: the same entropy in the words of this language. BIP-39 makes the seed of the
   * words, so those of another language are the way to another seed and other keys.
   */
  language?: MnemonicLanguage;
}

/** The plaintext is the raw 32 bytes of the secret; on Ed25519 the seed. */
export interface ExportKeyRequest extends ExportRequest {
  verb: "exportKey";
  key: KeyReference;
}

export interface ExportSecretRequest extends ExportRequest {
  verb: "exportSecret";
  secretId: string;
  sealedSecret: Sealed;
}

/**
 * Opens what a client encrypted to a key of the installation, in the scheme of `crypto/quorum-encryption.ts`, and seals it for
 * one OAuth 2.0 credential of an organization.
 */
export interface ImportClientSecretRequest {
  verb: "importClientSecret";
  organizationId: string;
  organizationKey: Sealed;
  credentialId: string;
  /** base64. */
  envelope: string;
  /** The installation's keys that it may be encrypted to; they are tried in this order. */
  installationKey: Sealed;
  keys: KeyReference[];
}
export type ImportClientSecretResponse = { sealedClientSecret: Sealed } | { problem: "undecryptable" };

/** What the server shows an OAuth 2.0 provider when it exchanges a code; in base64. */
export interface OpenClientSecretRequest {
  verb: "openClientSecret";
  organizationId: string;
  organizationKey: Sealed;
  credentialId: string;
  sealedClientSecret: Sealed;
}
export interface OpenClientSecretResponse {
  clientSecret: string;
}

/**
 * A fresh P-256 key for a session, encrypted to whoever signs in; nobody keeps its secret. `targetPublicKey` is a P-256 point in
 * hex, compressed or not.
 */
export interface IssueCredentialRequest {
  verb: "issueCredential";
  organizationId: string;
  targetPublicKey: string;
}
export interface IssueCredentialResponse {
  /** Lowercase hex, compressed. */
  publicKey: string;
  /** The plaintext is the raw 32 bytes of the secret. */
  message: HpkeMessage;
}

/** A keyed hash of a one-time code, so that whoever reads the database cannot try codes out. Codes compare without case. */
export interface MacOtpRequest {
  verb: "macOtp";
  organizationId: string;
  organizationKey: Sealed;
  otpId: string;
  code: string;
}
export interface MacOtpResponse {
  /** Hex of 32 bytes. */
  mac: string;
}

/** The same of a code that a client encrypted to the key that was made for it, with the key that it means to sign in with. */
export interface OpenOtpRequest {
  verb: "openOtp";
  organizationId: string;
  organizationKey: Sealed;
  otpId: string;
  sealedTargetKey: Sealed;
  bundle: HpkeMessage;
}
export type OpenOtpResponse = { mac: string; publicKey: string } | { problem: "undecryptable" | "malformed" };

/** What a job of the server must know and its database may not show; bound to the kind of job, in base64. */
export interface SealJobSecretRequest {
  verb: "sealJobSecret";
  organizationId: string;
  organizationKey: Sealed;
  secretId: string;
  jobKind: string;
  secret: string;
}
export interface SealJobSecretResponse {
  sealed: Sealed;
}

export interface OpenJobSecretRequest {
  verb: "openJobSecret";
  organizationId: string;
  organizationKey: Sealed;
  secretId: string;
  jobKind: string;
  sealed: Sealed;
}
export interface OpenJobSecretResponse {
  secret: string;
}

/** What the running signer is: its code, and the ephemeral keys that it made at its start and that end with it. */
export interface DescribeRequest {
  verb: "describe";
}
export interface DescribeResponse {
  /** Lowercase hex of 130 bytes: two uncompressed P-256 points, for encryption and for signing. */
  ephemeralPublicKey: string;
  /** Milliseconds. */
  startedAt: number;
  /** The release, and that of Node.js. */
  version: string;
  nodeVersion: string;
  protocolVersion: number;
  /** The source files of the signer by path, in the order of their paths; SHA-256 in hex. */
  files: { path: string; sha256: string }[];
  /** Hex of the SHA-256 over the files as `<sha256>  <path>\n`, in that order. */
  codeDigest: string;
}

/** A payload that the signer wrote, and its signature by the ephemeral signing key: r and s over its SHA-256 in hex. */
export interface SignedPayload {
  payload: string;
  signature: string;
}

/** The signer derives each address itself, from the key that it opens, and states what it found. */
export interface ProveAddressesRequest {
  verb: "proveAddresses";
  organizationId: string;
  organizationKey: Sealed;
  addresses: AddressReference[];
}
/** An address to prove: that of this key in this format. */
export interface AddressReference {
  key: KeyReference;
  format: AddressFormat;
}
export interface ProveAddressesResponse {
  ephemeralPublicKey: string;
  /** In the order asked. */
  proofs: SignedPayload[];
}

/** What the server states of a decision. The signer knows no policies: it signs this as the server's word. */
export interface PolicyOutcome {
  organizationId: string;
  outcome: string;
  decisionContextDigest: string;
  organizationDataDigest: string;
  parentOrganizationDataDigest: string;
  userRequestApprovals: { scheme: string; publicKey: string; message: string; signature: string }[];
}
export interface ProvePolicyOutcomeRequest {
  verb: "provePolicyOutcome";
  /** Digits. */
  timestampMs: string;
  policyOutcome: PolicyOutcome;
}
export interface ProvePolicyOutcomeResponse {
  ephemeralPublicKey: string;
  proof: SignedPayload;
}

export interface Responses {
  open: OpenResponse;
  createOrganizationKey: CreateOrganizationKeyResponse;
  generateKeys: GenerateKeysResponse;
  sign: SignResponse;
  createWallet: CreateWalletResponse;
  deriveAccounts: DeriveAccountsResponse;
  createImportKeys: CreateImportKeysResponse;
  importWallet: ImportWalletResponse;
  importPrivateKey: ImportPrivateKeyResponse;
  importSecret: ImportSecretResponse;
  exportWallet: HpkeMessage;
  exportKey: HpkeMessage;
  exportSecret: HpkeMessage;
  issueCredential: IssueCredentialResponse;
  macOtp: MacOtpResponse;
  openOtp: OpenOtpResponse;
  sealJobSecret: SealJobSecretResponse;
  openJobSecret: OpenJobSecretResponse;
  importClientSecret: ImportClientSecretResponse;
  openClientSecret: OpenClientSecretResponse;
  describe: DescribeResponse;
  proveAddresses: ProveAddressesResponse;
  provePolicyOutcome: ProvePolicyOutcomeResponse;
}

export type SignerRequest =
  | OpenRequest
  | CreateOrganizationKeyRequest
  | GenerateKeysRequest
  | SignRequest
  | CreateWalletRequest
  | DeriveAccountsRequest
  | CreateImportKeysRequest
  | ImportWalletRequest
  | ImportPrivateKeyRequest
  | ImportSecretRequest
  | ExportWalletRequest
  | ExportKeyRequest
  | ExportSecretRequest
  | IssueCredentialRequest
  | MacOtpRequest
  | OpenOtpRequest
  | SealJobSecretRequest
  | OpenJobSecretRequest
  | ImportClientSecretRequest
  | OpenClientSecretRequest
  | DescribeRequest
  | ProveAddressesRequest
  | ProvePolicyOutcomeRequest;

/** What the signer can be asked once it is open. */
export type SignerVerb = Exclude<SignerRequest["verb"], "open">;

/** `fault` says which kind of trouble; its text holds no secret and may be logged and shown to an operator. */
export type SignerFault = { kind: "sealed" | "refused" | "internal"; message: string };

/** Every request has an id; the answers carry it and come in whichever order they are ready. */
export type RequestFrame = { id: number; request: SignerRequest; occasion?: Occasion } | Ping;

/** What became of a request; `ms` is how long the signer worked on it. */
export type AnswerFrame = { id: number; ms: number } & ({ response: unknown } | { fault: SignerFault });
export type ResponseFrame = AnswerFrame | Pong;

/** Asks for a sign of life. It is answered between two slices of work, whatever else there is to do. */
export interface Ping {
  ping: true;
}
/** `longestMs`: the processor time that went into the one of the requests in hand that had most of it. */
export interface Pong {
  longestMs: number;
}
