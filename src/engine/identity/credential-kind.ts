import type { Allowlists } from "../../authority/decisions/ip-allowlists.ts";
import type { Actor } from "../../authority/parties.ts";
import type { OidcVerifier } from "../../providers/oidc/verifier.ts";
import type { Reader, Transactor } from "../../storage/engine.ts";
import type { Operation, Organization } from "../operations.ts";

/** What every kind of credential has to say of itself; `credential-kinds.ts` lists them. */

/** Where a credential is looked for: the organization and its parent, or after them its sub-organizations. */
export type Reach = "organization" | "subOrganizations";

export interface CredentialLookup {
  organizationId: string;
  /** What finds the credential: a public key, a credential ID, or a token with what it is bound to. */
  key: string;
  reach: Reach;
  /** Milliseconds. */
  now: number;
}

/** Whose credential it is, for the organization of the request. */
export interface Holder {
  organization: Organization;
  actor: Actor;
  /** What its own organization says of where the credential may be used. */
  allowlists: Allowlists;
  /** Of several holders those of the lowest rank are meant. */
  rank: number;
  /** Whether the credential has stamped a request that names its own organization. */
  hasActed: boolean;
  /** Of somebody who is no user yet, and becomes one by this request. */
  isNewcomer?: true;
}

/** How a vote remembers the stamp it came with. */
export interface StampRecord {
  publicKey: string;
  signature: string;
  scheme: string;
  /**
   * JSON of what a stamp has beside its signature: `{authenticatorData, clientDataJson}` in base64url, which a passkey signed too, or
   * `{publicKeyAttestation, publicKey}`, the token that says whose key it is and the key in its letters; null for other stamps.
   */
  assertion: string | null;
}

/** What stamps are verified with beside what is stored. */
export interface Verifying {
  oidc: OidcVerifier;
  /** The organization that the request names. */
  organizationId: string;
}

/** A kind of credential: how a stamp by it is read, looked up and verified, and what it may be used for. */
export interface CredentialKind<Stamp = never, Found extends Holder = never> {
  /** The request header that carries its stamps, in lowercase. */
  header: string;
  /** The kinds of operations that it may be used for. */
  kindsOfOperations: readonly Operation["kind"][];
  /** The operations that it may be used for, where these are not all of those kinds. */
  paths?: readonly string[];
  /** @throws KeysteadError with a 401 for a stamp that is malformed; nothing is verified yet */
  decode(header: string): Stamp;
  keyOf(stamp: Stamp): string;
  /** Everybody who has it, in the order of their ranks: anybody may register what is somebody else's. */
  find(read: Reader, lookup: CredentialLookup): Promise<readonly Found[]>;
  /** @throws KeysteadError with a 401: nobody has it */
  refuseUnknown(lookup: CredentialLookup): never;
  /** @throws KeysteadError with a 401 unless the holder made the stamp over these bytes, or FEATURE_OFF where such stamps are of no use */
  verify(stamp: Stamp, body: Uint8Array, found: Found, given: Verifying): Promise<void>;
  /** What may have changed since it was issued, such as its expiry: asked at every look. `now` is in milliseconds. */
  refuseLapsed(found: Found, lookup: CredentialLookup, now: number): void;
  recordOf(stamp: Stamp, found: Found): StampRecord;
  /** What the look-up goes by, as an error names it. */
  keyName: string;
  /**
   * Uses up what serves one new activity alone, in the transaction that stores it; `key` is what the look-up went by.
   *
   * @throws KeysteadError with a 401 where it has served already
   */
  useUp?(tx: Transactor, key: string, organization: Organization): Promise<void>;
  /** Notes the first request of a credential that names its own organization. */
  noteFirstUse(tx: Transactor, use: { organizationId: string; id: string; now: number }): Promise<unknown>;
}

/** Any kind; what it decodes and finds is for itself alone. */
export type AnyCredentialKind = CredentialKind<unknown, Holder>;

/** A kind among the others: each is given back only what it made itself. */
export const credentialKind = <Stamp, Found extends Holder>(kind: CredentialKind<Stamp, Found>): AnyCredentialKind =>
  kind as unknown as AnyCredentialKind;
