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

/** The kinds of parts, each with what a part of it holds; the comment says what the part is looked up by. */
export interface Parts {
  /** By the tag's id. */
  tag: Tag | undefined;
  /** By the tag's id: the ids of the users or private keys that carry it, sorted. */
  carriers: readonly string[];
  /** By the type of tag. */
  tagCount: number;
  /** By the user's id: whether the organization has the user. */
  user: boolean;
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

export type PartKind = keyof Parts;

/** Names one part. */
export interface PartRef<Kind extends PartKind = PartKind> {
  kind: Kind;
  id: string;
}

export const keyOf = ({ kind, id }: PartRef): string => `${kind} ${id}`;
