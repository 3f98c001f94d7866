import type { Quotas } from "./quotas.ts";

/**
 * The state of authority of an organization: who may do what. It consists of parts, so that a request loads only those that its rules read,
 * even in a large organization. Times are in milliseconds; undefined means that something does not exist.
 */

export type TagType = "TAG_TYPE_USER" | "TAG_TYPE_PRIVATE_KEY";

export interface Tag {
  id: string;
  type: TagType;
  name: string;
  createdAt: number;
  updatedAt: number;
}

/** What sessions with this profile may do. Immutable. */
export interface SessionProfile {
  id: string;
  name: string;
  /** A condition of the policy language. */
  scope: string;
  expirationSeconds: number | null;
  notes: string | null;
  createdAt: number;
}

/** The addresses from which an organization, or one of its API keys, may be used. */
export interface Allowlist {
  /** The id of the organization or of the API key. */
  id: string;
  /** Null for the organization's list. */
  apiKeyId: string | null;
  enabled: boolean;
  /** The decision for a request whose address is not known. */
  onEvaluationError: "ALLOW" | "DENY";
  rules: readonly AllowlistRule[];
}

export interface AllowlistRule {
  /** In canonical form. */
  cidr: string;
  label?: string;
  createdAt: number;
}

/** An invitation that is neither accepted nor revoked. It may have expired. */
export interface OpenInvitation {
  id: string;
  receiverName: string;
  receiverEmail: string;
  receiverTagIds: readonly string[];
  accessType: string;
  senderUserId: string;
  /** The SHA-256 of the mailed token, in hex; null for invitations from before tokens were mailed. */
  tokenHash: string | null;
  /** When it expires; null for an invitation that can never be accepted. */
  expiresAt: number | null;
}

export type InterfaceType = "SMART_CONTRACT_INTERFACE_TYPE_ETHEREUM" | "SMART_CONTRACT_INTERFACE_TYPE_SOLANA";

/** The interface of a contract, by which policies decode calls. Immutable. */
export interface ContractInterface {
  id: string;
  type: InterfaceType;
  /** As in the request. */
  address: string;
  /** In canonical form, for look-ups. */
  lookup: string;
  label: string;
  notes: string;
  json: string;
  createdAt: number;
}

/** A policy, which allows or denies activities. */
export interface Policy {
  id: string;
  /** Unique in the organization. */
  name: string;
  effect: "EFFECT_ALLOW" | "EFFECT_DENY";
  /** Its expressions. An empty one is always true, and so is a missing time. */
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

/** A method of an MFA policy; without an id, any credential of the type. */
export interface MethodGroup {
  any: readonly { type: AuthenticationType; id?: string }[];
}

/** An MFA policy: which further credentials a user's approval requires if the condition holds. */
export interface MfaPolicy {
  id: string;
  name: string;
  condition: string;
  /** One method of each group is required. An empty list exempts from policies of a higher order. */
  requiredMethods: readonly MethodGroup[];
  /** Among policies whose condition holds, the one with the lowest order applies. */
  order: number;
  notes: string | null;
  createdAt: number;
  updatedAt: number;
}

/** An enabled feature of the organization. */
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

/** A contact of a user, in the canonical form in which contacts are compared. */
export interface Contact {
  type: ContactType;
  /** An email address in lowercase, or a phone number in E.164. */
  value: string;
}

export const contactOf = (type: ContactType, text: string): Contact => ({
  type,
  value: type === "EMAIL" ? text.toLowerCase() : text,
});

/** A key that stamps a user's requests: registered by an administrator or the user, or issued by a sign-in. */
export interface ApiKey {
  id: string;
  name: string;
  /** The credential's type in the API, such as `CREDENTIAL_TYPE_API_KEY_P256`. */
  type: string;
  /** In canonical form: lowercase hex. */
  publicKey: string;
  sessionProfileId: string | null;
  /** Its life from `createdAt`; null if it never expires. */
  expirationSeconds: number | null;
  /** How its user authenticated to get it; null if it was added by somebody who may add keys. */
  grade: Grade | null;
  createdAt: number;
}

/**
 * How a sign-in that issued a key authenticated its user: by a stamp of a lasting credential, a one-time code, a token of an OIDC issuer, or a
 * recovery; `server` if only the server vouches for it, as for a key that the server keeps itself.
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
  /** The SHA-256 of the relying party id, from the registration. */
  rpIdHash: Uint8Array;
  origin: string;
  createdAt: number;
}

/** An identity at an issuer of OIDC tokens. */
export interface OauthProvider {
  id: string;
  name: string;
  issuer: string;
  audience: string;
  subject: string;
  createdAt: number;
}

/** The facts of a private key. */
export interface PrivateKey {
  id: string;
  name: string;
  curve: string;
  imported: boolean;
  exported: boolean;
  createdAt: number;
  updatedAt: number;
}

/** A new private key, with columns that are not part of the state because they never change. */
export interface SealedPrivateKey extends PrivateKey {
  /** In the form of the API. */
  publicKey: string;
  /** Only the signer can open it. */
  sealedKey: Uint8Array;
}

/** The facts of a wallet. Its accounts are not included: they can be derived again, and no decision depends on them. */
export interface Wallet {
  id: string;
  name: string;
  imported: boolean;
  exported: boolean;
  createdAt: number;
  updatedAt: number;
}

export interface SealedWallet extends Wallet {
  /** Only the signer can open it. */
  sealedWallet: Uint8Array;
}

/** The facts of a secret. */
export interface Secret {
  id: string;
  /** Unique in the organization. */
  name: string | null;
  staticProperties: readonly { key: string; value: string }[];
  exported: boolean;
  createdAt: number;
}

export interface SealedSecret extends Secret {
  /** Only the signer can open it. */
  sealedSecret: Uint8Array;
}

/** The root quorum: the users who together may do everything. */
export interface RootQuorum {
  threshold: number;
  /** Sorted when it is looked up. */
  userIds: readonly string[];
}

/** The kinds of parts, each with the type of its value. The comments tell by which id a part is looked up. */
export interface Parts {
  /** By the tag's id. */
  tag: Tag | undefined;
  /** By the tag's id: the ids of the users or private keys that have it, sorted. */
  carriers: readonly string[];
  /** By the type of tag. */
  tagCount: number;
  /** By the user's id. */
  user: User | undefined;
  /** By `ALL`. */
  userCount: number;
  /** The organization's quotas, by `ALL`. No rule changes them. */
  quotas: Quotas;
  /** By the user's id: their keys, oldest first. */
  apiKeys: readonly ApiKey[];
  /** By the user's id, the oldest first. */
  authenticators: readonly Authenticator[];
  /** By the user's id, the oldest first. */
  oauthProviders: readonly OauthProvider[];
  /** By the user's id: their verified contacts, ordered by type. */
  verifiedContacts: readonly Contact[];
  /** By `contactAt`: the id of the user who has verified it, in this organization, its parent, or the parent's other sub-organizations; at most one. */
  contactHolder: string | undefined;
  /** By `ALL`: whether the organization has a parent. Immutable. */
  isBelowParent: boolean;
  /** By the user's id, in the order of evaluation. */
  mfaPolicies: readonly MfaPolicy[];
  /** By the user's id: the ids of their tags, sorted. */
  tagsOfUser: readonly string[];
  /** By the credential id in base64url: the id of the authenticator. */
  authenticatorId: string | undefined;
  /** By `providerAt`: the id of the OAuth provider. */
  oauthProviderId: string | undefined;
  /** By `ALL`. */
  rootQuorum: RootQuorum;
  /** By the private key's id. */
  privateKey: PrivateKey | undefined;
  /** By `ALL`. */
  privateKeyCount: number;
  /** By the private key's id: the ids of its tags, sorted. */
  tagsOfPrivateKey: readonly string[];
  /** By the wallet's id. */
  wallet: Wallet | undefined;
  /** By `ALL`. */
  walletCount: number;
  /** By the secret's id. */
  secret: Secret | undefined;
  /** By the name: the id of the secret. */
  secretId: string | undefined;
  /** By `ALL`. */
  secretCount: number;
  /** By the public key in canonical form: the id of the API key. */
  apiKeyId: string | undefined;
  /** All of them, by `ALL`. */
  sessionProfiles: readonly SessionProfile[];
  /** By the id of the organization or of the API key. */
  allowlist: Allowlist | undefined;
  /** All of them, by `ALL`. */
  openInvitations: readonly OpenInvitation[];
  /** By the id: the interface's `interfaceAt`, and its length in bytes. */
  interface: { at: string; bytes: number } | undefined;
  /** By `interfaceAt`: the id of the contract's interface. */
  interfaceId: string | undefined;
  /** By `ALL`: the number of interfaces, and their total bytes. */
  interfaceTotals: { count: number; bytes: number };
  /** The enabled features, by `ALL`; sorted by name. */
  features: readonly Feature[];
  /** All of them, by `ALL`; sorted by id. */
  policies: readonly Policy[];
}

/** The id of the only part of a kind. */
export const ALL = "all";

/** The look-up id of a contract's interface. */
export const interfaceAt = ({ type, lookup }: Pick<ContractInterface, "type" | "lookup">): string =>
  `${type} ${lookup}`;

/** The look-up id of an OAuth provider. */
export const providerAt = ({
  issuer,
  audience,
  subject,
}: Pick<OauthProvider, "issuer" | "audience" | "subject">): string => JSON.stringify([issuer, audience, subject]);

/** The look-up id of a contact. */
export const contactAt = ({ type, value }: Contact): string => `${type} ${value}`;

export type PartKind = keyof Parts;

/** A reference to a part. */
export interface PartRef<Kind extends PartKind = PartKind> {
  kind: Kind;
  id: string;
}

export const keyOf = ({ kind, id }: PartRef): string => `${kind} ${id}`;
