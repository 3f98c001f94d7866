import { createHash } from "node:crypto";
import { fail, KeysteadError } from "../../kernel/errors.ts";
import type { Reader } from "../../storage/engine.ts";
import type { Actor, Operation, Organization } from "../operations.ts";
import type { AnyCredentialKind, CredentialLookup, Holder, Reach, StampRecord } from "./credential-kind.ts";
import type { Stamp } from "./credential-kinds.ts";
import { refuseAddress } from "./ip-allowlists.ts";

/** What finds the credential again, inside the transaction that decides. */
interface CredentialKey {
  kind: AnyCredentialKind;
  key: string;
}

/** A user known by a verified stamp, for one organization. */
export interface Principal {
  organization: Organization;
  /** The sub-organization in which a parent's user has it done; what is decided and kept is the parent's. */
  target?: Organization;
  actor: Actor;
  credentialKey: CredentialKey;
  stampRecord: StampRecord;
  /** Whether the credential has never before stamped a request that names its own organization, as this one does. */
  isFirstUse: boolean;
  /** Where the request came from, as the network layer tells it. */
  remoteAddress: string | undefined;
}

export interface StampedBody {
  stamp: Stamp;
  body: Uint8Array;
  organizationId: string;
  reach: Reach;
  /** Undefined where it is not known. */
  remoteAddress: string | undefined;
  /** Milliseconds. */
  now: number;
}

/**
 * The user who made `stamp` over `body`, looked up in the organization of the request, in its parent, and where it reaches
 * that far in its sub-organizations. Where the request comes from is held against the allowlist of the user's own organization.
 *
 * @throws KeysteadError with a 401, or IP_NOT_ALLOWED
 */
export async function authenticate(
  read: Reader,
  { stamp, body, organizationId, reach, remoteAddress, now }: StampedBody,
): Promise<Principal> {
  const { kind, decoded } = stamp;
  const lookup = { organizationId, key: kind.keyOf(decoded), reach };
  const found = await holderBehind(stamp, body, await kind.find(read, lookup), lookup, now);
  const { organization, actor, allowlists, hasActed } = found;
  refuseAddress(allowlists, actor.organizationId, remoteAddress);
  const credentialKey = { kind, key: lookup.key };
  const stampRecord = kind.recordOf(decoded, found);
  const isFirstUse = !hasActed && actor.organizationId === organizationId;
  return { organization, actor, credentialKey, stampRecord, isFirstUse, remoteAddress };
}

/**
 * Who of the holders made the stamp. One who cannot have made it, because what they registered has another public key or has
 * expired, stands in nobody's way.
 *
 * @throws KeysteadError with a 401 where it is nobody, or more than one of the same rank
 */
async function holderBehind(
  { kind, decoded }: Stamp,
  body: Uint8Array,
  holders: readonly Holder[],
  lookup: CredentialLookup,
  now: number,
): Promise<Holder> {
  let meant: Holder | undefined;
  let refusal: KeysteadError | undefined;
  for (const holder of holders) {
    if (meant && holder.rank > meant.rank) break;
    try {
      await kind.verify(decoded, body, holder);
      kind.refuseLapsed(holder, lookup, now);
    } catch (error) {
      if (!(error instanceof KeysteadError)) throw error;
      refusal ??= error;
      continue;
    }
    if (meant) fail("CREDENTIAL_AMBIGUOUS", { kind: kind.keyName });
    meant = holder;
  }
  if (meant) return meant;
  throw refusal ?? kind.refuseUnknown(lookup);
}

/**
 * The same user as of now, without the signature: between the stamp and the decision the credential may have gone, the
 * user may have left the root quorum, the allowlist may have changed.
 *
 * @throws KeysteadError with a 401, or IP_NOT_ALLOWED
 */
export async function reload(read: Reader, principal: Principal, now: number): Promise<Principal> {
  const { kind, key } = principal.credentialKey;
  const lookup = { organizationId: principal.organization.id, key, reach: "organization" } as const;
  const { id } = principal.actor.credential;
  const found = (await kind.find(read, lookup)).find(({ actor }) => actor.credential.id === id);
  if (!found) return kind.refuseUnknown(lookup);
  kind.refuseLapsed(found, lookup, now);
  const { organization, actor, allowlists } = found;
  refuseAddress(allowlists, actor.organizationId, principal.remoteAddress);
  return { ...principal, organization, actor };
}

/** @throws KeysteadError CREDENTIAL_NOT_FOR_THIS where the credential's kind is not meant for such operations */
export function refuseUnfitKind(
  { nouns, header }: Pick<AnyCredentialKind, "nouns" | "header">,
  noun: Operation["noun"],
): void {
  if (!nouns.includes(noun))
    fail("CREDENTIAL_NOT_FOR_THIS", { header, what: noun === "query" ? "queries" : "activities" });
}

/** What identifies a body: `sha256:` and the lowercase hex of its SHA-256. */
export const fingerprintOf = (body: Uint8Array): string => `sha256:${createHash("sha256").update(body).digest("hex")}`;
