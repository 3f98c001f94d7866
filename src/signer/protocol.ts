import type { AddressFormat } from "../crypto/addresses.ts";
import type { CoinbaseRequest } from "../crypto/coinbase-requests.ts";
import type { Curve } from "../crypto/curves.ts";
import type { MnemonicLanguage, MnemonicLength } from "../crypto/mnemonic-languages.ts";
import type { MoonPayPurchase } from "../crypto/moonpay-url.ts";
import type { RegistryCredential } from "../crypto/registry-credential.ts";
import type { SparkDerivation } from "../crypto/spark/keys.ts";
import type { SignerDescription, Statement } from "./statements.ts";

/**
 * The requests that the server may make of the signer, as one closed union. Bytes are sent as base64. The version is checked when the
 * signer is opened, so that a server never uses a signer of another release.
 */
export const PROTOCOL_VERSION = 19;

export type { Curve };

/** How the payload is hashed before signing; `none` signs a 32-byte digest (ECDSA) or the message itself (Ed25519). */
export type SignerHash = "none" | "sha256" | "keccak256";

/** base64 of bytes that only a signer with the root key can open. */
export type Sealed = string;

/** The owner of the installation's own keys and secrets; no organization id has this form. */
export const INSTALLATION = "service";

/** A key to sign with or to export: one that is stored separately, or one derived from a wallet's seed. */
export type KeyReference = (
  | { kind: "privateKey"; keyId: string; curve: Curve; sealedKey: Sealed }
  | { kind: "walletAccount"; walletId: string; sealedWallet: Sealed; curve: Curve; path: string }
) & {
  /** The address by which it was named. The signer refuses an address that is not the key's. */
  address?: NamedAddress;
};
export interface NamedAddress {
  format: AddressFormat;
  address: string;
}

/**
 * The reason for using or creating a key of an organization: an activity, as its users stamped it. The signer checks every request against
 * it.
 */
export interface Occasion {
  /** The stamped body of the activity, unchanged; or that of a query, if something is only read. */
  body: string;
  /** What was planned when the activity was submitted, for operations that plan. */
  plan?: unknown;
  /** Every stamp that approves it. */
  ballots: StampedBallot[];
}
export interface StampedBallot {
  userId: string;
  /** What was stamped; absent if that is the activity's body. */
  message?: string;
  publicKey: string;
  scheme: string;
  signature: string;
  /** What a passkey signs in addition to the message. */
  assertion?: string;
}

/**
 * Absent: the curve's ordinary scheme (ECDSA, EdDSA). `bip340`: Schnorr with the key unchanged. `bip340Taproot`: Schnorr with the key-path
 * tweak of BIP-341 for an output without script tree. Both require a secp256k1 key.
 */
export type Scheme = "bip340" | "bip340Taproot";

/** A key of a wallet; `path` is valid according to `pathProblem`. */
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
 * Why an import was refused: no target key opens the bundle; the words are not a BIP-39 mnemonic; the bytes are not a secret of the curve;
 * the plaintext is too long.
 */
export type ImportProblem = "undecryptable" | "invalidMnemonic" | "invalidKey" | "tooLarge";

export interface OpenRequest {
  verb: "open";
  protocolVersion: number;
  rootKeyFile: string;
  passphrase?: string;
  /** Create the root key if the file does not exist. */
  mayCreate: boolean;
  /** The root key that seals new keys of organizations; the first of the file if absent or not in it. */
  sealsWith?: string;
  /** Whether this process may be asked to replace the file. Only the first request decides: a server's signer never may. */
  mayReplaceFile: boolean;
  /** How many secrets of wallets are kept open, and for how long; 0 for either disables the cache. */
  seedCache: { entries: number; lifetimeMs: number };
  /** Whether each use of a key is logged to the signer's standard error. */
  recordUses: boolean;
}
/** `rootKeyIds` are those of the file; the first one seals. */
export type OpenResponse = { state: "open"; rootKeyIds: string[]; created: boolean } | { state: "sealed" };

/** Replaces the file of root keys, for an operator's command. */
export interface ReplaceRootKeyFileRequest {
  verb: "replaceRootKeyFile";
  /** The new file contains the same keys, one more, or only the one that seals. */
  keys: "same" | "one more" | "the one that seals";
  /** Protects the new file; absent: it contains the keys in plain form. */
  passphrase?: string;
}
export interface ReplaceRootKeyFileResponse {
  /** Those of the new file. */
  rootKeyIds: string[];
}

/** Seals keys of organizations with the root key that seals, for a rotation. */
export interface ResealOrganizationKeysRequest {
  verb: "resealOrganizationKeys";
  organizations: { organizationId: string; organizationKey: Sealed }[];
}
export interface ResealOrganizationKeysResponse {
  /** In the order of the request: unchanged if sealed so already, null if no root key of the file opens it. */
  organizationKeys: (Sealed | null)[];
}

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
  /** `isSponsor`: a key of the installation for `signSponsorTransaction` only. */
  keys: { keyId: string; curve: Curve; isSponsor?: true }[];
}
export interface GenerateKeysResponse {
  /** In the order of the request; `publicKey` is lowercase hex, compressed for the EC curves. */
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
  /** In the order of the request; r and s are 64 lowercase hex digits, v is "00" or "01". */
  signatures: { r: string; s: string; v: string }[];
}

/** Statements that the installation makes in its own name, signed by one of its keys. Apart from a drill's own text, these keys sign nothing else. */
export interface SignStatementsRequest {
  verb: "signStatements";
  /** The installation. */
  organizationId: string;
  organizationKey: Sealed;
  key: { keyId: string; curve: Curve; sealedKey: Sealed };
  statements: Statement[];
}
export interface SignStatementsResponse {
  /** In the order of the request, each in hex: R || S of EdDSA, or r || s of ECDSA over the SHA-256. */
  signatures: string[];
}

/**
 * Signs a transaction that the installation pays for, on behalf of an activity of the organization. Keys for this sign nothing else, and no
 * other keys are used for it.
 */
export interface SignSponsorTransactionRequest {
  verb: "signSponsorTransaction";
  /** The organization whose activity it pays for. */
  organizationId: string;
  installationKey: Sealed;
  key: { keyId: string; curve: Curve; sealedKey: Sealed };
  /** base64 of the unsigned transaction: of type 2 or 4 on Ethereum chains, the message on Solana. */
  transaction: string;
  /** What is paid for, for the log of uses. */
  purpose: string;
}
/** Like the response of `sign`. */
export interface SignSponsorTransactionResponse {
  signature: { r: string; s: string; v: string };
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
  /** In the order of the request; each in the form of generateKeys. */
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
  /** In the order of the request; each in the form of generateKeys. */
  publicKeys: string[];
}

/** The user for whom an import key was made, and when. It is sealed with both, and with its purpose. */
export interface ImportKeyTerms {
  userId: string;
  /** Milliseconds. */
  issuedAt: number;
}

export interface CreateImportKeysRequest {
  verb: "createImportKeys";
  /** For a `key` or a `secret`, the terms are compared with the import; for a `code`, the terms are in its own row. */
  terms: { purpose: "code" } | ({ purpose: "key" | "secret" } & ImportKeyTerms);
  organizationId: string;
  organizationKey: Sealed;
  importIds: string[];
}
export interface CreateImportKeysResponse {
  /** In the order of the request; `targetPublicKey` is an uncompressed P-256 point in lowercase hex. */
  importKeys: { sealedImportKey: Sealed; targetPublicKey: string }[];
}

export interface SealedImportKey extends ImportKeyTerms {
  importId: string;
  sealedImportKey: Sealed;
}

/** The members common to all imports; the response names the import key that opened the bundle. */
interface ImportRequest {
  organizationId: string;
  organizationKey: Sealed;
  /** The keys that the bundle may be encrypted to, tried in this order. */
  importKeys: SealedImportKey[];
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

/** The members common to all exports; `targetPublicKey` is a P-256 point in hex, compressed or not. */
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
   * Absent: the words unchanged. Present: the same entropy in the words of this language. BIP-39 derives the seed from the words, so words
   * of another language lead to another seed and other keys.
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
 * Opens what a client encrypted to a key of the installation, in the scheme of `crypto/quorum-encryption.ts`, and seals it for one OAuth
 * 2.0 credential of an organization.
 */
export interface ImportClientSecretRequest {
  verb: "importClientSecret";
  organizationId: string;
  organizationKey: Sealed;
  credentialId: string;
  /** base64. */
  envelope: string;
  /** The installation's keys that it may be encrypted to, tried in this order. */
  installationKey: Sealed;
  keys: KeyReference[];
}
export type ImportClientSecretResponse = { sealedClientSecret: Sealed } | { problem: "undecryptable" };

/** The secret that the server sends to an OAuth 2.0 provider when it exchanges a code; in base64. */
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

/** Providers that sell crypto for fiat. */
export type OnRampProviderName = "coinbase" | "moonpay";

/**
 * Opens bundles that a client encrypted to a key of the installation, and seals their content for one on-ramp credential of an organization
 * and its provider.
 */
export interface ImportOnRampKeysRequest {
  verb: "importOnRampKeys";
  organizationId: string;
  organizationKey: Sealed;
  credentialId: string;
  provider: OnRampProviderName;
  secretApiKey: HpkeMessage;
  /** The key that signs requests to Coinbase. */
  privateApiKey?: HpkeMessage;
  /** The installation's keys that they may be encrypted to, tried in this order. */
  installationKey: Sealed;
  keys: KeyReference[];
}
/** `invalidKey`: the keys are unusable with the provider. */
export type ImportOnRampKeysResponse =
  | { sealedKeys: Sealed }
  | { problem: Exclude<ImportProblem, "invalidMnemonic">; of: "secretApiKey" | "privateApiKey" };

/** Uses keys of an on-ramp credential, for an activity that begins a purchase; it may be an activity of a sub-organization. */
interface OnRampRequest {
  organizationId: string;
  organizationKey: Sealed;
  credentialId: string;
  sealedKeys: Sealed;
}

/** Signs a MoonPay URL: one for a purchase, or one that the activity's body names. */
export interface SignMoonPayUrlRequest extends OnRampRequest {
  verb: "signMoonPayUrl";
  sandbox: boolean;
  of: { purchase: MoonPayPurchase } | { url: string };
}
export interface SignMoonPayUrlResponse {
  url: string;
  /** base64 of the HMAC-SHA-256. */
  signature: string;
}

/** Makes a token for one request to Coinbase. To read the status of a purchase, the occasion is a query that names it. */
export interface AuthorizeCoinbaseRequest extends OnRampRequest {
  verb: "authorizeCoinbase";
  /** The id of the key at Coinbase. */
  keyId: string;
  /** With its port, if it has one. */
  host: string;
  request: CoinbaseRequest;
}
export interface AuthorizeCoinbaseResponse {
  token: string;
}

/**
 * A fresh P-256 key for a session, encrypted to the user who signs in; nobody stores its secret. `targetPublicKey` is a P-256 point in hex,
 * compressed or not.
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

/** The activities that the auth proxy submits for people who have no credential yet. Its key stamps these and queries, and nothing else. */
export const authProxyTypes = [
  "ACTIVITY_TYPE_INIT_OTP_V2",
  "ACTIVITY_TYPE_INIT_OTP_V3",
  "ACTIVITY_TYPE_VERIFY_OTP",
  "ACTIVITY_TYPE_VERIFY_OTP_V2",
  "ACTIVITY_TYPE_OTP_LOGIN",
  "ACTIVITY_TYPE_OTP_LOGIN_V2",
  "ACTIVITY_TYPE_OAUTH_LOGIN",
  "ACTIVITY_TYPE_OAUTH2_AUTHENTICATE",
  "ACTIVITY_TYPE_CREATE_SUB_ORGANIZATION_V7",
  "ACTIVITY_TYPE_CREATE_SUB_ORGANIZATION_V8",
  "ACTIVITY_TYPE_CREATE_OAUTH_PROVIDERS_V2",
] as const;

/** Those activities that name the sub-organization whose user signs in or gets a further identity. */
export const authProxyLoginTypes: readonly string[] = [
  "ACTIVITY_TYPE_OTP_LOGIN",
  "ACTIVITY_TYPE_OTP_LOGIN_V2",
  "ACTIVITY_TYPE_OAUTH_LOGIN",
  "ACTIVITY_TYPE_CREATE_OAUTH_PROVIDERS_V2",
];

/** A P-256 key for the auth proxy of an organization; `configId` is the id of its configuration. */
export interface CreateAuthProxyKeyRequest {
  verb: "createAuthProxyKey";
  organizationId: string;
  organizationKey: Sealed;
  configId: string;
}
export interface CreateAuthProxyKeyResponse {
  sealedKey: Sealed;
  /** Lowercase hex, compressed. */
  publicKey: string;
}

/** Stamps a body with the key of an auth proxy: a query of its organization, or an activity of `authProxyTypes`. */
export interface StampAuthProxyBodyRequest {
  verb: "stampAuthProxyBody";
  organizationId: string;
  organizationKey: Sealed;
  configId: string;
  sealedKey: Sealed;
  /** Exactly as it will be sent. */
  body: string;
}
export interface StampAuthProxyBodyResponse {
  /** Hex of a DER signature over the SHA-256 of the body. */
  signature: string;
}

/** A keyed hash of a one-time code, so that somebody who can read the database cannot try out codes. Codes are compared ignoring case. */
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

/** The same for a code that a client encrypted to the code's own key, together with the key that the client will sign in with. */
export interface OpenOtpRequest {
  verb: "openOtp";
  organizationId: string;
  organizationKey: Sealed;
  otpId: string;
  sealedTargetKey: Sealed;
  bundle: HpkeMessage;
}
export type OpenOtpResponse = { mac: string; publicKey: string } | { problem: "undecryptable" | "malformed" };

/** Seals what a job of the server must know and its database must not reveal; bound to the kind of job; base64. */
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

/** Describes the running signer: its code, and the ephemeral keys that it made at its start. */
export interface DescribeRequest {
  verb: "describe";
}
export type DescribeResponse = SignerDescription;

/** A payload that the signer wrote, and its signature by the ephemeral signing key: r and s over its SHA-256 in hex. */
export interface SignedPayload {
  payload: string;
  signature: string;
}

/** The signer derives each address itself, from the key that it opens, and states the result. */
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
  /** In the order of the request. */
  proofs: SignedPayload[];
}

/** The server's statement of a decision. The signer knows no policies: its signature only confirms that the server said so. */
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

/** Something sealed for an organization, to be opened and checked. */
export type SealedItem =
  | { of: "key"; keyId: string; curve: Curve; purpose?: "sponsor key"; sealed: Sealed; sign: boolean }
  | { of: "wallet"; walletId: string; sealed: Sealed; accounts: AccountReference[]; sign: boolean }
  | { of: "secret"; purpose: SecretPurpose; ids: [id: string, ...more: string[]]; sealed: Sealed };
export type SecretPurpose =
  | "import key"
  | "secret"
  | "job secret"
  | "client secret"
  | "auth proxy key"
  | "on-ramp keys";

/**
 * Opens what is sealed and reports whether that is possible, for the drill of a backup. It needs no activity: it returns nothing of a
 * secret but public keys, and all that it signs, including with keys of the installation, is a text that the signer makes up. It is logged
 * like any other use of keys.
 */
export interface RehearseRequest {
  verb: "rehearse";
  organizationId: string;
  organizationKey: Sealed;
  items: SealedItem[];
}
export interface RehearseResponse {
  /** In the order of the request. */
  items: RehearsedItem[];
}
/** `signature` is by the first of the keys, if one was wanted: r and s over `message`, on EC curves over its SHA-256. */
export type RehearsedItem =
  | { problem: string }
  | { publicKeys: string[]; signature?: { message: string; r: string; s: string } };

/** Uses keys of a Spark wallet, which `key` names by its address: an account at the path of an identity key. */
interface SparkRequest {
  organizationId: string;
  organizationKey: Sealed;
  key: KeyReference;
}

/** A share to make, as in the activity: everything in lowercase hex. */
export interface SparkSignature {
  derivation: SparkDerivation;
  message: string;
  verifyingKey: string;
  operatorCommitments: { id: string; hiding: string; binding: string }[];
  /** Absent or empty for an ordinary signature. */
  adaptorPublicKey?: string;
}
export interface SignSparkFrostRequest extends SparkRequest {
  verb: "signSparkFrost";
  signatures: SparkSignature[];
}
/**
 * In the order of the request, in hex. `ownKey`: a verifying key is the wallet's own. It needs no operators, so its share would be a
 * signature by that key alone.
 */
export type SignSparkFrostResponse =
  | { signatures: { signatureShare: string; hiding: string; binding: string }[] }
  | { problem: "ownKey"; at: number };

/** The operators among whom a secret is shared; any `threshold` of them can reconstruct it. */
export interface SparkSharing {
  threshold: number;
  operatorRecipients: { operatorId: string; encryptionPublicKey: string }[];
}

/** As in the activity. */
export interface SparkTransfer extends SparkSharing {
  transferId: string;
  leaves: {
    leafId: string;
    oldLeafDerivation: SparkDerivation;
    newLeafDerivation: SparkDerivation;
    refundSignature?: string;
    directRefundSignature?: string;
    directFromCpfpRefundSignature?: string;
  }[];
  receiverPublicKey: string;
}
export interface PrepareSparkTransferRequest extends SparkRequest {
  verb: "prepareSparkTransfer";
  transfer: SparkTransfer;
}
export interface PrepareSparkTransferResponse {
  /** base64, in the order of the recipients. */
  packages: string[];
  /** Hex of a DER signature. */
  userSignature: string;
  /** In the order of the leaves, in hex. */
  newPublicKeys: string[];
}

/** As in the activity. */
export interface SparkClaim extends SparkSharing {
  transferId: string;
  leaves: { leafId: string; ciphertext: string; senderSignature: string }[];
  senderIdentityPublicKey: string;
}
export interface ClaimSparkTransferRequest extends SparkRequest {
  verb: "claimSparkTransfer";
  claim: SparkClaim;
}
/** `undecryptable`: the ciphertext was not encrypted to this wallet, or contains a key that this leaf cannot have. */
export type ClaimSparkTransferResponse =
  | { packages: string[]; newPublicKeys: string[] }
  | { problem: "unsigned" | "undecryptable"; leafId: string };

export interface PrepareSparkLightningReceiveRequest extends SparkRequest {
  verb: "prepareSparkLightningReceive";
  lightningReceive: SparkSharing;
}
export interface PrepareSparkLightningReceiveResponse {
  packages: string[];
  /** Hex of the SHA-256 of the preimage. */
  paymentHash: string;
}

/**
 * Opens what a client encrypted to a key of the installation, in the scheme of `crypto/quorum-encryption.ts`, for pulling images: a Docker
 * configuration. Only its entry for one registry is returned.
 */
export interface OpenPullSecretRequest {
  verb: "openPullSecret";
  organizationId: string;
  /** Hex, as in the body. */
  envelope: string;
  /** The host, with a port if there is one. */
  registry: string;
  /** The installation's keys that it may be encrypted to, tried in this order. */
  installationKey: Sealed;
  keys: KeyReference[];
}
export type OpenPullSecretResponse =
  | { credential: RegistryCredential }
  | { problem: "undecryptable" | "malformed" | "otherRegistry" };

/** Generates a quorum key that nobody keeps: its shares are encrypted to operators immediately. Parameters as in the activity, in hex. */
export interface CreateQuorumKeyRequest {
  verb: "createQuorumKey";
  organizationId: string;
  threshold: number;
  /** Uncompressed points of P-256. */
  operatorEncryptKeys: string[];
}
export interface CreateQuorumKeyResponse {
  /** Hex: encryption key, then signing key. */
  publicKey: string;
  /** In the order of the keys: an envelope of `crypto/quorum-encryption.ts` in hex, and the digest that identifies the share. */
  shares: { encryptedShare: string; digest: string }[];
}

/**
 * Opens a share with an operator's encryption key, encrypts it to the key of a deployment's runner, and approves the manifest with the
 * operator's signing key. The installation must have made a statement about the runner's key, for this manifest.
 */
export interface ReEncryptQuorumShareRequest {
  verb: "reEncryptQuorumShare";
  organizationId: string;
  organizationKey: Sealed;
  encryptKey: KeyReference;
  signKey: KeyReference;
  /** Hex. */
  encryptedShare: string;
  deploymentId: string;
  /** As in the activity. */
  attestationDocB64: string;
  manifestB64: string;
  /** The installation's keys that sign such statements. */
  installationKey: Sealed;
  keys: KeyReference[];
}
/** `undecryptable`: the share was not encrypted to this operator. `unstated`: the document is not the installation's, or is about something else. */
export type ReEncryptQuorumShareResponse =
  | { ephemeralPublicKey: string; reEncryptedShare: string; signature: string }
  | { problem: "undecryptable" | "unstated" };

export interface Responses {
  open: OpenResponse;
  replaceRootKeyFile: ReplaceRootKeyFileResponse;
  resealOrganizationKeys: ResealOrganizationKeysResponse;
  createOrganizationKey: CreateOrganizationKeyResponse;
  generateKeys: GenerateKeysResponse;
  sign: SignResponse;
  signStatements: SignStatementsResponse;
  signSponsorTransaction: SignSponsorTransactionResponse;
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
  createAuthProxyKey: CreateAuthProxyKeyResponse;
  stampAuthProxyBody: StampAuthProxyBodyResponse;
  macOtp: MacOtpResponse;
  openOtp: OpenOtpResponse;
  sealJobSecret: SealJobSecretResponse;
  openJobSecret: OpenJobSecretResponse;
  importClientSecret: ImportClientSecretResponse;
  openClientSecret: OpenClientSecretResponse;
  importOnRampKeys: ImportOnRampKeysResponse;
  signMoonPayUrl: SignMoonPayUrlResponse;
  authorizeCoinbase: AuthorizeCoinbaseResponse;
  signSparkFrost: SignSparkFrostResponse;
  prepareSparkTransfer: PrepareSparkTransferResponse;
  claimSparkTransfer: ClaimSparkTransferResponse;
  prepareSparkLightningReceive: PrepareSparkLightningReceiveResponse;
  openPullSecret: OpenPullSecretResponse;
  createQuorumKey: CreateQuorumKeyResponse;
  reEncryptQuorumShare: ReEncryptQuorumShareResponse;
  describe: DescribeResponse;
  proveAddresses: ProveAddressesResponse;
  provePolicyOutcome: ProvePolicyOutcomeResponse;
  rehearse: RehearseResponse;
}

export type SignerRequest =
  | OpenRequest
  | ReplaceRootKeyFileRequest
  | ResealOrganizationKeysRequest
  | CreateOrganizationKeyRequest
  | GenerateKeysRequest
  | SignRequest
  | SignStatementsRequest
  | SignSponsorTransactionRequest
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
  | CreateAuthProxyKeyRequest
  | StampAuthProxyBodyRequest
  | MacOtpRequest
  | OpenOtpRequest
  | SealJobSecretRequest
  | OpenJobSecretRequest
  | ImportClientSecretRequest
  | OpenClientSecretRequest
  | ImportOnRampKeysRequest
  | SignMoonPayUrlRequest
  | AuthorizeCoinbaseRequest
  | SignSparkFrostRequest
  | PrepareSparkTransferRequest
  | ClaimSparkTransferRequest
  | PrepareSparkLightningReceiveRequest
  | OpenPullSecretRequest
  | CreateQuorumKeyRequest
  | ReEncryptQuorumShareRequest
  | DescribeRequest
  | ProveAddressesRequest
  | ProvePolicyOutcomeRequest
  | RehearseRequest;

/** The requests that the signer accepts once it is open. */
export type SignerVerb = Exclude<SignerRequest["verb"], "open">;

/** `kind` is the kind of error. The message contains no secret and may be logged and shown to an operator. */
export type SignerFault = { kind: "sealed" | "refused" | "internal"; message: string };

/**
 * Every request has an id. The answers repeat it and come in any order. `traceId` is the trace with which a use of a key is logged; a
 * signer that does not support it answers as well.
 */
export type RequestFrame =
  | {
      id: number;
      request: SignerRequest;
      /** The organization whose turn the request uses. Grants no permission. */
      inTurnOf: string;
      occasion?: Occasion;
      traceId?: string;
    }
  | Ping;

/** The outcome of a request; `ms` is how long the signer worked on it. */
export type AnswerFrame = { id: number; ms: number } & ({ response: unknown } | { fault: SignerFault });
export type ResponseFrame = AnswerFrame | Pong;

/** Requests a sign of life. It is answered between two slices of work, whatever else there is to do. */
export interface Ping {
  ping: true;
}
/** `longestMs`: the processor time of the request in progress that has used most of it. */
export interface Pong {
  longestMs: number;
}
