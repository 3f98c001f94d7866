import type { Quotas } from "./quotas.ts";

/**
 * Who may do what in an organization, as one state. It comes in parts, so that a request of a large organization needs only
 * those that its rules look at. Times are milliseconds; what is not there is undefined.
 */

export type TagType = "TAG_TYPE_USER" | "TAG_TYPE_PRIVATE_KEY";

export interface Tag {
  id: string;
  type: TagType;
  name: string;
  createdAt: number;
  updatedAt: number;
}

/** What sessions that are issued with it may do. It is never changed. */
export interface SessionProfile {
  id: string;
  name: string;
  /** A condition of the policy language. */
  scope: string;
  expirationSeconds: number | null;
  notes: string | null;
  createdAt: number;
}

/** From where an organization, or one of its API keys, may be used. */
export interface Allowlist {
  /** The organization's own id, or that of the API key. */
  id: string;
  /** Null for the organization's list. */
  apiKeyId: string | null;
  enabled: boolean;
  /** What holds for a request whose address is not known. */
  onEvaluationError: "ALLOW" | "DENY";
  rules: readonly AllowlistRule[];
}

export interface AllowlistRule {
  /** In its one spelling. */
  cidr: string;
  label?: string;
  createdAt: number;
}

/** One that is neither accepted nor revoked; it may have expired. */
export interface OpenInvitation {
  id: string;
  receiverName: string;
  receiverEmail: string;
  receiverTagIds: readonly string[];
  accessType: string;
  senderUserId: string;
  /** Hex of the SHA-256 of the token that was mailed; null for one of a time when none was. */
  tokenHash: string | null;
  /** From then on nobody can accept it. Null for one that nobody ever could. */
  expiresAt: number | null;
}

export type InterfaceType = "SMART_CONTRACT_INTERFACE_TYPE_ETHEREUM" | "SMART_CONTRACT_INTERFACE_TYPE_SOLANA";

/** What policies may know of a contract's calls. It is never changed. */
export interface ContractInterface {
  id: string;
  type: InterfaceType;
  /** As it was given. */
  address: string;
  /** In the one spelling that it is looked up by. */
  lookup: string;
  label: string;
  notes: string;
  json: string;
  createdAt: number;
}

/** What allows or denies activities. */
export interface Policy {
  id: string;
  /** Unique in the organization. */
  name: string;
  effect: "EFFECT_ALLOW" | "EFFECT_DENY";
  /** Its expressions; an empty one holds always, and so does no time. */
  consensus: string;
  condition: string;
  time: string | null;
  notes: string;
  createdAt: number;
  updatedAt: number;
}

export const authenticationTypes = [
  "AUTHENTICATION_TYPE_EMAIL_OTP",
  "AUTHENTICATION_TYPE_SMS_OTP",
  "AUTHENTICATION_TYPE_PASSKEY",
  "AUTHENTICATION_TYPE_API_KEY",
  "AUTHENTICATION_TYPE_OAUTH",
  "AUTHENTICATION_TYPE_SESSION",
] as const;
export type AuthenticationType = (typeof authenticationTypes)[number];

/** Any of these methods; without an id, any credential of the type. */
export interface MethodGroup {
  any: readonly { type: AuthenticationType; id?: string }[];
}

/** Which further credentials a user's approval takes where the condition holds. */
export interface MfaPolicy {
  id: string;
  name: string;
  condition: string;
  /** One of each group; none at all exempts from what policies of a higher order ask for. */
  requiredMethods: readonly MethodGroup[];
  /** The lowest of those whose condition holds applies. */
  order: number;
  notes: string | null;
  createdAt: number;
  updatedAt: number;
}

/** A feature of the organization that is on. */
export interface Feature {
  name: string;
  value: string | null;
}

export interface User {
  id: string;
  name: string;
  email: string | null;
  /** E.164. */
  phoneNumber: string | null;
  createdAt: number;
  updatedAt: number;
}

export type ContactType = "EMAIL" | "PHONE_NUMBER";

/** What a user is reached by, in the one spelling that it is compared by. */
export interface Contact {
  type: ContactType;
  /** An e-mail address in lowercase, or a phone number in E.164. */
  value: string;
}

export const contactOf = (type: ContactType, text: string): Contact => ({
  type,
  value: type === "EMAIL" ? text.toLowerCase() : text,
});

/** A key that stamps requests of a user: made by an administrator or by the user, or got by a sign-in. */
export interface ApiKey {
  id: string;
  name: string;
  /** The credential's type in the API, such as `CREDENTIAL_TYPE_API_KEY_P256`. */
  type: string;
  /** In its one spelling: lowercase hex. */
  publicKey: string;
  sessionProfileId: string | null;
  /** Its life from `createdAt` on; null for a key that lasts. */
  expirationSeconds: number | null;
  /** What its user showed to get it; null where it was added by whoever may add keys. */
  grade: Grade | null;
  createdAt: number;
}

/**
 * How a key was got by signing in: with a stamp by a lasting credential, a one-time password, a token of an OIDC issuer, or in a
 * recovery; `server` where nothing but the server's word says so, as of a key that it keeps itself.
 */
export type Grade = "stamp" | "otp" | "oidc" | "recovery" | "server";

/** A passkey. */
export interface Authenticator {
  id: string;
  name: string;
  /** base64url, as WebAuthn gives it. */
  credentialId: string;
  /** COSE. */
  publicKey: Uint8Array;
  aaguid: string;
  attestationType: string;
  transports: readonly string[];
  /** SHA-256 of the relying party's id, as its registration gave it. */
  rpIdHash: Uint8Array;
  origin: string;
  createdAt: number;
}

/** Whoever an issuer of OIDC tokens says it is. */
export interface OauthProvider {
  id: string;
  name: string;
  issuer: string;
  audience: string;
  subject: string;
  createdAt: number;
}

/** What is known of a private key. */
export interface PrivateKey {
  id: string;
  name: string;
  curve: string;
  imported: boolean;
  exported: boolean;
  createdAt: number;
  updatedAt: number;
}

/** With what is stored of it and told by no part: it comes with the key and never changes. */
export interface SealedPrivateKey extends PrivateKey {
  /** As the API shows it. */
  publicKey: string;
  /** For the signer alone to open. */
  sealedKey: Uint8Array;
}

/** What is known of a wallet; its accounts can be derived again, and decide nothing. */
export interface Wallet {
  id: string;
  name: string;
  imported: boolean;
  exported: boolean;
  createdAt: number;
  updatedAt: number;
}

export interface SealedWallet extends Wallet {
  /** For the signer alone to open. */
  sealedWallet: Uint8Array;
}

/** What is known of a secret. */
export interface Secret {
  id: string;
  /** Unique in the organization. */
  name: string | null;
  staticProperties: readonly { key: string; value: string }[];
  exported: boolean;
  createdAt: number;
}

export interface SealedSecret extends Secret {
  /** For the signer alone to open. */
  sealedSecret: Uint8Array;
}

/** Who together may do everything. */
export interface RootQuorum {
  threshold: number;
  /** Sorted where it is looked up. */
  userIds: readonly string[];
}

/** The kinds of parts, each with what a part of it holds; the comment says what the part is looked up by. */
export interface Parts {
  /** By the tag's id. */
  tag: Tag | undefined;
  /** By the tag's id: the ids of the users or private keys that carry it, sorted. */
  carriers: readonly string[];
  /** By the type of tag. */
  tagCount: number;
  /** By the user's id. */
  user: User | undefined;
  /** By `ALL`. */
  userCount: number;
  /** What the organization may have, by `ALL`; no rule changes it. */
  quotas: Quotas;
  /** By the user's id: their keys, the oldest first. */
  apiKeys: readonly ApiKey[];
  /** By the user's id, the oldest first. */
  authenticators: readonly Authenticator[];
  /** By the user's id, the oldest first. */
  oauthProviders: readonly OauthProvider[];
  /** By the user's id: the contacts that the user has shown to receive what is sent to, by their types. */
  verifiedContacts: readonly Contact[];
  /**
   * By `contactAt`: the id of the user who has it verified, in this organization, its parent, or any other below that: of all of
   * them one at most.
   */
  contactHolder: string | undefined;
  /** By `ALL`: whether the organization has a parent. It never changes. */
  isBelowParent: boolean;
  /** By the user's id, in the order in which they are looked at. */
  mfaPolicies: readonly MfaPolicy[];
  /** By the user's id: the ids of the tags they carry, sorted. */
  tagsOfUser: readonly string[];
  /** By the credential id in base64url: the id of the authenticator that has it. */
  authenticatorId: string | undefined;
  /** By `providerAt`: the id of the OAuth provider. */
  oauthProviderId: string | undefined;
  /** By `ALL`. */
  rootQuorum: RootQuorum;
  /** By the private key's id. */
  privateKey: PrivateKey | undefined;
  /** By `ALL`. */
  privateKeyCount: number;
  /** By the private key's id: the ids of the tags it carries, sorted. */
  tagsOfPrivateKey: readonly string[];
  /** By the wallet's id. */
  wallet: Wallet | undefined;
  /** By `ALL`. */
  walletCount: number;
  /** By the secret's id. */
  secret: Secret | undefined;
  /** By the name: the id of the secret that has it. */
  secretId: string | undefined;
  /** By `ALL`. */
  secretCount: number;
  /** By the public key in its one spelling: the id of the API key that has it. */
  apiKeyId: string | undefined;
  /** All of them, by `ALL`. */
  sessionProfiles: readonly SessionProfile[];
  /** By the id of the organization or of the API key. */
  allowlist: Allowlist | undefined;
  /** All of them, by `ALL`. */
  openInvitations: readonly OpenInvitation[];
  /** By the id: where the interface is looked up, and its length in bytes. */
  interface: { at: string; bytes: number } | undefined;
  /** By `interfaceAt`: the id of the interface of that contract. */
  interfaceId: string | undefined;
  /** By `ALL`: how many interfaces there are, and their bytes together. */
  interfaceTotals: { count: number; bytes: number };
  /** Those that are on, by `ALL`; sorted by their names. */
  features: readonly Feature[];
  /** All of them, by `ALL`; in the order of their ids. */
  policies: readonly Policy[];
}

/** Names the one part of a kind that is kept whole. */
export const ALL = "all";

/** Names the interface of a contract. */
export const interfaceAt = ({ type, lookup }: Pick<ContractInterface, "type" | "lookup">): string =>
  `${type} ${lookup}`;

/** Names an OAuth provider by what its tokens say. */
export const providerAt = ({
  issuer,
  audience,
  subject,
}: Pick<OauthProvider, "issuer" | "audience" | "subject">): string => JSON.stringify([issuer, audience, subject]);

/** Names a contact. */
export const contactAt = ({ type, value }: Contact): string => `${type} ${value}`;

export type PartKind = keyof Parts;

/** Names one part. */
export interface PartRef<Kind extends PartKind = PartKind> {
  kind: Kind;
  id: string;
}

export const keyOf = ({ kind, id }: PartRef): string => `${kind} ${id}`;
