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
}

export type PartKind = keyof Parts;

/** Names one part. */
export interface PartRef<Kind extends PartKind = PartKind> {
  kind: Kind;
  id: string;
}

export const keyOf = ({ kind, id }: PartRef): string => `${kind} ${id}`;
