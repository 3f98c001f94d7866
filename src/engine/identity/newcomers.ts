import { fail, KeysteadError } from "../../kernel/errors.ts";
import { newId } from "../../kernel/ids.ts";
import type { Reader } from "../../storage/engine.ts";
import type { Newcomer } from "../operations.ts";
import { findAllowlist } from "./allowlists.ts";
import { type ApiKeyHolder, apiKeyKind } from "./api-key-kind.ts";
import type { AnyCredentialKind, CredentialLookup, Holder, Verifying } from "./credential-kind.ts";
import type { DecodedStamp } from "./credential-kinds.ts";
import { findOrganization, rootIdOf } from "./organizations.ts";
import { type PasskeyHolder, passkeyKind } from "./passkey-kind.ts";

/** Reads from the request who the newcomer is; throws if the operation refuses them. */
export type Meet = (read: Reader, organizationId: string) => Promise<Newcomer>;

/**
 * The stamp of a request that makes its sender a user. Its credential is looked up in the organization first, because the request may have
 * been carried out already, and then in the request itself; the stamp is verified with it in either case. A parent's credentials do not
 * count, because their holders are not users of this organization.
 */
export function stampOfNewcomer(
  { kind, decoded }: DecodedStamp,
  body: Uint8Array,
  { oidc, meet }: Pick<Verifying, "oidc"> & { meet: Meet },
): DecodedStamp {
  const ids = { userId: newId(), credentialId: newId() };
  // The request does not change, so who they are is read once. Whether they may become a user is checked again when they do.
  let met: Promise<Newcomer> | undefined;
  const meetOnce: Meet = (read, organizationId) => {
    met ??= meet(read, organizationId);
    return met;
  };
  const find = async (read: Reader, lookup: CredentialLookup): Promise<Holder[]> => {
    const findKnown = () => knownHolders({ kind, decoded }, body, read, lookup, oidc);
    const known = await findKnown();
    if (known.length > 0) return known;
    try {
      return [await holderOfNewcomer(kind, read, lookup, meetOnce, ids)];
    } catch (error) {
      if (!(error instanceof KeysteadError)) throw error;
      // An equal request may have been carried out between the two look-ups and have used up the invitation.
      const knownSince = await findKnown();
      if (knownSince.length === 0) throw error;
      return knownSince;
    }
  };
  return { kind: { ...kind, find }, decoded };
}

/** The organization's own users who hold the credential and made the stamp with it. */
async function knownHolders(
  { kind, decoded }: DecodedStamp,
  body: Uint8Array,
  read: Reader,
  lookup: CredentialLookup,
  oidc: Verifying["oidc"],
): Promise<Holder[]> {
  const known: Holder[] = [];
  for (const holder of await kind.find(read, lookup)) {
    if (holder.actor.organizationId !== lookup.organizationId) continue;
    try {
      await kind.verify(decoded, body, holder, { oidc, rootId: rootIdOf(holder.organization) });
      known.push(holder);
    } catch (error) {
      if (!(error instanceof KeysteadError)) throw error;
    }
  }
  return known;
}

async function holderOfNewcomer(
  kind: AnyCredentialKind,
  read: Reader,
  lookup: CredentialLookup,
  meet: Meet,
  ids: { userId: string; credentialId: string },
): Promise<Holder> {
  const { organizationId, key } = lookup;
  const { userName, credential } = await meet(read, organizationId);
  const organization = await findOrganization(read, organizationId);
  if (!organization) return kind.refuseUnknown(lookup);
  const isPasskey = "credentialId" in credential;
  const registers = isPasskey ? passkeyKind : apiKeyKind;
  if (registers.header !== kind.header || (isPasskey ? credential.credentialId : credential.publicKey) !== key) {
    fail("CREDENTIAL_NOT_REGISTERED", { header: kind.header });
  }
  const holder: Holder = {
    rank: 0,
    hasActed: false,
    isNewcomer: true,
    organization,
    allowlists: { ofOrganization: await findAllowlist(read, organizationId), ofKey: undefined },
    actor: {
      userId: ids.userId,
      userName,
      organizationId,
      isRootQuorumMember: false,
      hasMfaPolicies: false,
      credential: { id: ids.credentialId, type: credential.type },
    },
  };
  if (!isPasskey) {
    const found: ApiKeyHolder = { ...holder, expiresAt: null };
    return found;
  }
  const { publicKey, rpIdHash, allowedOrigins } = credential;
  const found: PasskeyHolder = {
    ...holder,
    publicKey: Buffer.from(publicKey),
    rpIdHash: Buffer.from(rpIdHash),
    allowedOrigins,
  };
  return found;
}
