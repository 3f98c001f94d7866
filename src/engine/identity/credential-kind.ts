import type { Reader } from "../../storage/engine.ts";
import type { Actor, Operation, Organization } from "../operations.ts";
import type { Allowlists } from "./ip-allowlists.ts";

/** What every kind of credential has to say of itself; `credential-kinds.ts` lists them. */

/** Where a credential is looked for: the organization and its parent, or after them its sub-organizations. */
export type Reach = "organization" | "subOrganizations";

export interface CredentialLookup {
  organizationId: string;
  /** What finds the credential: a public key, or a credential ID. */
  key: string;
  reach: Reach;
}

/** Whose credential it is, for the organization of the request. */
export interface Holder {
  organization: Organization;
  actor: Actor;
  /** What its own organization says of where the credential may be used. */
  allowlists: Allowlists;
}

/** How a vote remembers the stamp it came with. */
export interface StampRecord {
  publicKey: string;
  signature: string;
  scheme: string;
}

/** A kind of credential: how a stamp by it is read, looked up and verified, and what it may be used for. */
export interface CredentialKind<Stamp = never, Found extends Holder = never> {
  /** The request header that carries its stamps, in lowercase. */
  header: string;
  /** The nouns that it may be used for. */
  nouns: readonly Operation["noun"][];
  /** @throws KeysteadError with a 401 for a stamp that is malformed; nothing is verified yet */
  decode(header: string): Stamp;
  keyOf(stamp: Stamp): string;
  /** @throws KeysteadError with a 401 where nobody has it, or several do */
  find(read: Reader, lookup: CredentialLookup): Promise<Found>;
  /** @throws KeysteadError with a 401 unless the holder made the stamp over these bytes */
  verify(stamp: Stamp, body: Uint8Array, found: Found): Promise<void>;
  /** What may have changed since it was issued, such as its expiry: asked at every look. `now` is in milliseconds. */
  refuseLapsed(found: Found, lookup: CredentialLookup, now: number): void;
  recordOf(stamp: Stamp, found: Found): StampRecord;
}

/** Any kind; what it decodes and finds is for itself alone. */
export type AnyCredentialKind = CredentialKind<unknown, Holder>;

/** A kind among the others: each is given back only what it made itself. */
export const credentialKind = <Stamp, Found extends Holder>(kind: CredentialKind<Stamp, Found>): AnyCredentialKind =>
  kind as unknown as AnyCredentialKind;
