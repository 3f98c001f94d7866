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

/** One that is neither accepted nor revoked. */
export interface OpenInvitation {
  id: string;
  receiverName: string;
  receiverEmail: string;
  receiverTagIds: readonly string[];
  accessType: string;
  senderUserId: string;
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
 * How a key was got by signing in: with a stamp by another credential, a one-time password, a token of an OIDC issuer, or in a
 * recovery; `server` where nothing but the server's word says so.
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

/** Who together may do everything. */
export interface RootQuorum {
  threshold: number;
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
  /** By the user's id: their keys, the oldest first. */
  apiKeys: readonly ApiKey[];
  /** By the user's id, the oldest first. */
  authenticators: readonly Authenticator[];
  /** By the user's id, the oldest first. */
  oauthProviders: readonly OauthProvider[];
  /** By the user's id: the ids of the tags they carry, sorted. */
  tagsOfUser: readonly string[];
  /** By the credential id in base64url: the id of the authenticator that has it. */
  authenticatorId: string | undefined;
  /** By `providerAt`: the id of the OAuth provider. */
  oauthProviderId: string | undefined;
  /** By `ALL`. */
  rootQuorum: RootQuorum;
  /** By the private key's id: whether the organization has it. */
  privateKey: boolean;
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

export type PartKind = keyof Parts;

/** Names one part. */
export interface PartRef<Kind extends PartKind = PartKind> {
  kind: Kind;
  id: string;
}

export const keyOf = ({ kind, id }: PartRef): string => `${kind} ${id}`;
