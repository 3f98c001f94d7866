import { refuseAddress } from "../../authority/decisions/ip-allowlists.ts";
import type { Actor } from "../../authority/parties.ts";
import { fail, failForNow, KeysteadError } from "../../kernel/errors.ts";
import { ERASURE_RETRY_SECONDS } from "../../kernel/limits.ts";
import type { OidcVerifier } from "../../providers/oidc/verifier.ts";
import type { Reader } from "../../storage/engine.ts";
import type { Operation, Organization } from "../operations.ts";
import type { AnyCredentialKind, CredentialLookup, Holder, Reach, StampRecord } from "./credential-kind.ts";
import type { DecodedStamp } from "./credential-kinds.ts";
import { rootIdOf } from "./organizations.ts";

/** How to find the credential again, inside the transaction that decides. */
interface CredentialKey {
  kind: AnyCredentialKind;
  key: string;
}

/** An authenticated user, for one organization. */
export interface Principal {
  organization: Organization;
  actor: Actor;
  credentialKey: CredentialKey;
  stampRecord: StampRecord;
  /** Whether this is the credential's first request that names its own organization. */
  isFirstUse: boolean;
  /** True if they are not a user yet and this request makes them one. */
  isNewcomer?: true;
  /** The client's IP address, if it is known. */
  remoteAddress: string | undefined;
  /** Whether the request is exempt from IP allowlists. */
  isExempt: boolean;
}

export interface StampedBody {
  stamp: DecodedStamp;
  body: Uint8Array;
  organizationId: string;
  reach: Reach;
  /** Undefined if it is not known. */
  remoteAddress: string | undefined;
  /** Verifies the tokens of OIDC issuers. */
  oidc: OidcVerifier;
  /** Whether it is exempt from IP allowlists, because this server stamped it for somebody who may be anywhere. */
  isExempt: boolean;
  /** Milliseconds. */
  now: number;
}

/**
 * Authenticates the user who made `stamp` over `body`. The credential is looked up in the organization of the request, in its parent, and,
 * depending on its reach, in its sub-organizations. The client's address is checked against the allowlist of the user's own organization.
 *
 * @throws KeysteadError with a 401, FEATURE_OFF, IP_NOT_ALLOWED or ORGANIZATION_BEING_ERASED; for a newcomer also whatever refuses them
 */
export async function authenticate(
  read: Reader,
  { stamp, body, organizationId, reach, remoteAddress, isExempt, oidc, now }: StampedBody,
): Promise<Principal> {
  const { kind, decoded } = stamp;
  const lookup = { organizationId, key: kind.keyOf(decoded), reach, now };
  const found = await holderBehind(stamp, body, await kind.find(read, lookup), lookup, { oidc, now });
  const { organization, actor, allowlists, hasActed, isNewcomer } = found;
  if (!isExempt) refuseAddress(allowlists, actor.organizationId, remoteAddress);
  if (organization.isErasing) {
    const retryAfterSeconds = ERASURE_RETRY_SECONDS;
    failForNow("ORGANIZATION_BEING_ERASED", { organizationId, retryAfterSeconds }, retryAfterSeconds);
  }
  const credentialKey = { kind, key: lookup.key };
  const stampRecord = kind.recordOf(decoded, found);
  const isFirstUse = !hasActed && actor.organizationId === organizationId;
  const newcomer = isNewcomer ? { isNewcomer } : {};
  return { organization, actor, credentialKey, stampRecord, isFirstUse, remoteAddress, isExempt, ...newcomer };
}

/**
 * The holder who made the stamp. A holder who cannot have made it, because their credential has another public key or has expired, does not
 * block the others.
 *
 * @throws KeysteadError with a 401 if nobody made it, or if several holders of the same rank may have
 */
async function holderBehind(
  { kind, decoded }: DecodedStamp,
  body: Uint8Array,
  holders: readonly Holder[],
  lookup: CredentialLookup,
  { oidc, now }: Pick<StampedBody, "oidc" | "now">,
): Promise<Holder> {
  let meant: Holder | undefined;
  let refusal: KeysteadError | undefined;
  for (const holder of holders) {
    if (meant && holder.rank > meant.rank) break;
    try {
      await kind.verify(decoded, body, holder, { oidc, rootId: rootIdOf(holder.organization) });
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
 * Looks the same user up again, without verifying the signature: since authentication the credential may have been deleted, the user may
 * have left the root quorum, or the allowlist may have changed.
 *
 * @throws KeysteadError with a 401, or IP_NOT_ALLOWED
 */
export async function reload(read: Reader, principal: Principal, now: number): Promise<Principal> {
  const { kind, key } = principal.credentialKey;
  const lookup = { organizationId: principal.organization.id, key, reach: "organization", now } as const;
  const { userId, credential } = principal.actor;
  const holders = await kind.find(read, lookup);
  const isSame = ({ actor }: Holder) => actor.credential.id === credential.id && actor.userId === userId;
  // A newcomer may have become a user meanwhile, by an equal request.
  const found = holders.find(isSame) ?? (principal.isNewcomer && holders[0]);
  if (!found) return kind.refuseUnknown(lookup);
  kind.refuseLapsed(found, lookup, now);
  const { organization, actor, allowlists } = found;
  if (!principal.isExempt) refuseAddress(allowlists, actor.organizationId, principal.remoteAddress);
  return { ...principal, organization, actor };
}

/** @throws KeysteadError CREDENTIAL_NOT_FOR_THIS if this kind of credential must not be used for the operation */
export function refuseUnfitKind(
  { kindsOfOperations, paths, header }: Pick<AnyCredentialKind, "kindsOfOperations" | "paths" | "header">,
  { kind, path }: Pick<Operation, "kind" | "path">,
): void {
  if (!kindsOfOperations.includes(kind))
    fail("CREDENTIAL_NOT_FOR_THIS", { header, what: kind === "query" ? "queries" : "activities" });
  if (paths && !paths.includes(path)) fail("CREDENTIAL_NOT_FOR_THIS", { header, what: path });
}
