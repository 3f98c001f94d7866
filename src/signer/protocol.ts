import type { AddressFormat } from "../crypto/addresses.ts";
import type { CoinbaseRequest } from "../crypto/coinbase-requests.ts";
import type { Curve } from "../crypto/curves.ts";
import type { MnemonicLanguage, MnemonicLength } from "../crypto/mnemonic-languages.ts";
import type { MoonPayPurchase } from "../crypto/moonpay-url.ts";
import type { RegistryCredential } from "../crypto/registry-credential.ts";
import type { SparkDerivation } from "../crypto/spark/keys.ts";
import type { SignerDescription, Statement } from "./statements.ts";

/**
 * What the server may ask the signer, as one closed union. Bytes travel as base64. The version is checked when the signer
 * is opened, so that a server never talks to a signer of another release.
 */
export const PROTOCOL_VERSION = 18;

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
  /** The stamped body of the activity, as it came; of a query, where something is only asked for. */
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
  /** `isSponsor`: of the installation, for `signSponsorTransaction` alone. */
  keys: { keyId: string; curve: Curve; isSponsor?: true }[];
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

/** What the installation says in its own name, signed by one of its keys: nothing else is signed by these but a drill's own text. */
export interface SignStatementsRequest {
  verb: "signStatements";
  /** The installation. */
  organizationId: string;
  organizationKey: Sealed;
  key: { keyId: string; curve: Curve; sealedKey: Sealed };
  statements: Statement[];
}
export interface SignStatementsResponse {
  /** In the order asked, each in hex: R || S of EdDSA, or r || s of ECDSA over the SHA-256. */
  signatures: string[];
}

/**
 * Signs a transaction that the installation pays for, in the name of an activity of the organization. Keys for that sign nothing else,
 * and nothing else signs with them.
 */
export interface SignSponsorTransactionRequest {
  verb: "signSponsorTransaction";
  /** For whose activity it pays. */
  organizationId: string;
  installationKey: Sealed;
  key: { keyId: string; curve: Curve; sealedKey: Sealed };
  /** base64, before it is signed: of type 2 or 4 for Ethereum chains, the message for Solana. */
  transaction: string;
  /** What is paid for, for the record of uses. */
  purpose: string;
}
/** As `sign` answers it. */
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

/** Whom an import key is for, and since when; it is sealed with both, and with what it is for. */
export interface ImportKeyTerms {
  userId: string;
  /** Milliseconds. */
  issuedAt: number;
}

export interface CreateImportKeysRequest {
  verb: "createImportKeys";
  /** Of a `key` or a `secret` the terms are held against the import; a `code` has those of its own row. */
  terms: { purpose: "code" } | ({ purpose: "key" | "secret" } & ImportKeyTerms);
  organizationId: string;
  organizationKey: Sealed;
  importIds: string[];
}
export interface CreateImportKeysResponse {
  /** In the order asked; `targetPublicKey` is an uncompressed P-256 point in lowercase hex. */
  importKeys: { sealedImportKey: Sealed; targetPublicKey: string }[];
}

export interface SealedImportKey extends ImportKeyTerms {
  importId: string;
  sealedImportKey: Sealed;
}

/** What every import is asked with; the answer names the import key that opened the bundle. */
interface ImportRequest {
  organizationId: string;
  organizationKey: Sealed;
  /** The keys that the bundle may be encrypted to; they are tried in this order. */
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

/** Who sells crypto for fiat. */
export type OnRampProviderName = "coinbase" | "moonpay";

/**
 * Opens what a client encrypted to a key of the installation, as bundles are, and seals it for one on-ramp credential of an
 * organization and its provider.
 */
export interface ImportOnRampKeysRequest {
  verb: "importOnRampKeys";
  organizationId: string;
  organizationKey: Sealed;
  credentialId: string;
  provider: OnRampProviderName;
  secretApiKey: HpkeMessage;
  /** What signs requests to Coinbase. */
  privateApiKey?: HpkeMessage;
  /** The installation's keys that they may be encrypted to; they are tried in this order. */
  installationKey: Sealed;
  keys: KeyReference[];
}
/** `invalidKey`: nothing of the provider's can be made with it. */
export type ImportOnRampKeysResponse =
  | { sealedKeys: Sealed }
  | { problem: Exclude<ImportProblem, "invalidMnemonic">; of: "secretApiKey" | "privateApiKey" };

/** With keys of an on-ramp credential, for an activity that begins a purchase; it may be one of a sub-organization. */
interface OnRampRequest {
  organizationId: string;
  organizationKey: Sealed;
  credentialId: string;
  sealedKeys: Sealed;
}

/** A URL of MoonPay with its signature: one for a purchase, or one that the activity's body names. */
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

/** A token for one request to Coinbase; to hear of a purchase, for a query that names it. */
export interface AuthorizeCoinbaseRequest extends OnRampRequest {
  verb: "authorizeCoinbase";
  /** What the key is known as there. */
  keyId: string;
  /** With its port, if it has one. */
  host: string;
  request: CoinbaseRequest;
}
export interface AuthorizeCoinbaseResponse {
  token: string;
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

/**
 * The activities that the auth proxy has done for people who have no credential yet. Its key stamps these and queries, and
 * nothing else.
 */
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

/** Those of them that name the sub-organization whose user signs in, or is known elsewhere too. */
export const authProxyLoginTypes: readonly string[] = [
  "ACTIVITY_TYPE_OTP_LOGIN",
  "ACTIVITY_TYPE_OTP_LOGIN_V2",
  "ACTIVITY_TYPE_OAUTH_LOGIN",
  "ACTIVITY_TYPE_CREATE_OAUTH_PROVIDERS_V2",
];

/** A P-256 key for the auth proxy of an organization; `configId` is that of its configuration. */
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
  /** As it will be sent. */
  body: string;
}
export interface StampAuthProxyBodyResponse {
  /** Hex of a DER signature over the SHA-256 of the body. */
  signature: string;
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
export type DescribeResponse = SignerDescription;

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

/** What is sealed for an organization, to be opened and looked at. */
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
 * Opens what is sealed and tells whether it could be, for the drill of a backup. It is asked for no activity: nothing of a secret
 * comes back but public keys, and what is signed, also with keys of the installation, is a text that the signer makes up. It leaves a line
 * among the uses of keys like any other.
 */
export interface RehearseRequest {
  verb: "rehearse";
  organizationId: string;
  organizationKey: Sealed;
  items: SealedItem[];
}
export interface RehearseResponse {
  /** In the order asked. */
  items: RehearsedItem[];
}
/** `signature` is by the first of the keys, if one was wanted: r and s over `message`, on EC curves over its SHA-256. */
export type RehearsedItem =
  | { problem: string }
  | { publicKeys: string[]; signature?: { message: string; r: string; s: string } };

/** With the keys of a Spark wallet, which `key` names by its address: an account at the path of an identity key. */
interface SparkRequest {
  organizationId: string;
  organizationKey: Sealed;
  key: KeyReference;
}

/** One share to make, as the activity has it: everything in lowercase hex. */
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
 * In the order asked, in hex. `ownKey`: a verifying key is the wallet's own, which needs no operators; its share would be a
 * signature by that key alone.
 */
export type SignSparkFrostResponse =
  | { signatures: { signatureShare: string; hiding: string; binding: string }[] }
  | { problem: "ownKey"; at: number };

/** Whom a secret is shared among: as many as the list has, of whom `threshold` can make it again. */
export interface SparkSharing {
  threshold: number;
  operatorRecipients: { operatorId: string; encryptionPublicKey: string }[];
}

/** As the activity has it. */
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

/** As the activity has it. */
export interface SparkClaim extends SparkSharing {
  transferId: string;
  leaves: { leafId: string; ciphertext: string; senderSignature: string }[];
  senderIdentityPublicKey: string;
}
export interface ClaimSparkTransferRequest extends SparkRequest {
  verb: "claimSparkTransfer";
  claim: SparkClaim;
}
/** `undecryptable`: what is in the ciphertext is not for this wallet, or no key that this leaf could come from. */
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
 * What a client encrypted to a key of the installation, in the scheme of `crypto/quorum-encryption.ts`, to pull images with: a
 * configuration as Docker keeps it, of which the part for one registry is given out.
 */
export interface OpenPullSecretRequest {
  verb: "openPullSecret";
  organizationId: string;
  /** Hex, as the body has it. */
  envelope: string;
  /** Host, with a port if there is one. */
  registry: string;
  /** The installation's keys that it may be encrypted to; they are tried in this order. */
  installationKey: Sealed;
  keys: KeyReference[];
}
export type OpenPullSecretResponse =
  | { credential: RegistryCredential }
  | { problem: "undecryptable" | "malformed" | "otherRegistry" };

/** A quorum key that nobody keeps: its shares are encrypted to operators at once. As the activity has them, in hex. */
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
  /** In the order of the keys: an envelope of `crypto/quorum-encryption.ts` in hex, and what the share is known by. */
  shares: { encryptedShare: string; digest: string }[];
}

/**
 * Opens a share with an operator's encryption key, encrypts it to the key that a deployment's runner made, and approves the manifest with
 * the operator's signing key. The installation must have stated that key of the runner, for this manifest.
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
  /** As the activity has them. */
  attestationDocB64: string;
  manifestB64: string;
  /** The installation's keys that it makes such statements with. */
  installationKey: Sealed;
  keys: KeyReference[];
}
/** `undecryptable`: the share was not encrypted to this operator. `unstated`: the document is not the installation's, or of something else. */
export type ReEncryptQuorumShareResponse =
  | { ephemeralPublicKey: string; reEncryptedShare: string; signature: string }
  | { problem: "undecryptable" | "unstated" };

export interface Responses {
  open: OpenResponse;
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

/** What the signer can be asked once it is open. */
export type SignerVerb = Exclude<SignerRequest["verb"], "open">;

/** `fault` says which kind of trouble; its text holds no secret and may be logged and shown to an operator. */
export type SignerFault = { kind: "sealed" | "refused" | "internal"; message: string };

/**
 * Every request has an id; the answers carry it and come in whichever order they are ready. `traceId` says in which trace a use of a
 * key is told; a signer that does not know it answers all the same.
 */
export type RequestFrame =
  | {
      id: number;
      request: SignerRequest;
      /** The organization whose turn it takes. Nothing is allowed by it. */
      inTurnOf: string;
      occasion?: Occasion;
      traceId?: string;
    }
  | Ping;

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
