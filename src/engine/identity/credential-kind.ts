import type { Allowlists } from "../../authority/decisions/ip-allowlists.ts";
import type { Actor } from "../../authority/parties.ts";
import type { OidcVerifier } from "../../providers/oidc/verifier.ts";
import type { Reader, Transactor } from "../../storage/engine.ts";
import type { Operation, Organization } from "../operations.ts";

/** The interface of every kind of credential; `credential-kinds.ts` lists them. */

/** Where a credential is looked up: in the organization and its parent, or also, if neither knows it, in the sub-organizations. */
export type Reach = "organization" | "subOrganizations";

export interface CredentialLookup {
  organizationId: string;
  /** The look-up key: a public key, a credential ID, or a token with what it is bound to. */
  key: string;
  reach: Reach;
  /** Milliseconds. */
  now: number;
}

/** The holder of a credential, for the organization of the request. */
export interface Holder {
  organization: Organization;
  actor: Actor;
  /** The IP allowlists of its own organization and of the credential. */
  allowlists: Allowlists;
  /** Among several holders, those with the lowest rank are meant. */
  rank: number;
  /** Whether the credential has stamped a request that names its own organization. */
  hasActed: boolean;
  /** True for somebody who is not a user yet and becomes one by this request. */
  isNewcomer?: true;
}

/** A stamp as stored with a vote. */
export interface StampRecord {
  publicKey: string;
  signature: string;
  scheme: string;
  /**
   * JSON of a stamp's further parts: `{authenticatorData, clientDataJson}` in base64url, which a passkey signed too, or
   * `{publicKeyAttestation, publicKey}`, the token that attests the key and the key as it was sent; null for other stamps.
   */
  assertion: string | null;
}

/** What verifying stamps needs besides stored rows. */
export interface Verifying {
  oidc: OidcVerifier;
  /** The holder's organization, or its parent: what is asked of issuers for any of a parent's sub-organizations counts for the parent. */
  rootId: string;
}

/** A kind of credential: how its stamps are decoded, looked up and verified, and what it may be used for. */
export interface CredentialKind<Stamp = never, Found extends Holder = never> {
  /** The request header that carries its stamps, in lowercase. */
  header: string;
  /** The kinds of operations that it may be used for. */
  kindsOfOperations: readonly Operation["kind"][];
  /** The operations that it may be used for, if not all of those kinds. */
  paths?: readonly string[];
  /** @throws KeysteadError with a 401 if the stamp is malformed. Nothing is verified yet. */
  decode(header: string): Stamp;
  keyOf(stamp: Stamp): string;
  /** All holders, ordered by rank. There may be several, because anybody can register somebody else's credential. */
  find(read: Reader, lookup: CredentialLookup): Promise<readonly Found[]>;
  /** @throws KeysteadError with a 401: the credential is not known */
  refuseUnknown(lookup: CredentialLookup): never;
  /** @throws KeysteadError with a 401 unless the holder made the stamp over these bytes; FEATURE_OFF if the organization disabled such stamps */
  verify(stamp: Stamp, body: Uint8Array, found: Found, given: Verifying): Promise<void>;
  /** Throws if the credential is no longer valid, for example because it expired. Called at every look-up. `now` is in milliseconds. */
  refuseLapsed(found: Found, lookup: CredentialLookup, now: number): void;
  recordOf(stamp: Stamp, found: Found): StampRecord;
  /** The name of the look-up key in errors. */
  keyName: string;
  /**
   * Uses up a credential that is valid for a single new activity, in the transaction that stores the activity. `key` is the look-up key.
   *
   * @throws KeysteadError with a 401 if it was used already
   */
  useUp?(tx: Transactor, key: string, organization: Organization): Promise<void>;
  /** Records a credential's first request that names its own organization. */
  noteFirstUse(tx: Transactor, use: { organizationId: string; id: string; now: number }): Promise<unknown>;
}

/** Any kind. The values that it decodes and finds are opaque to everybody else. */
export type AnyCredentialKind = CredentialKind<unknown, Holder>;

/** Drops the types of a kind: each receives only values that it made itself. */
export const credentialKind = <Stamp, Found extends Holder>(kind: CredentialKind<Stamp, Found>): AnyCredentialKind =>
  kind as unknown as AnyCredentialKind;
