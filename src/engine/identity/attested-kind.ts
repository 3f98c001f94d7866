import { attestedTypes, contactCredential, otpFeatures } from "../../authority/attested.ts";
import { isOver } from "../../authority/rules/credentials.ts";
import { type AttestedStamp, decodeAttestedStamp, verifyAttestedStamp } from "../../crypto/attested-stamps.ts";
import { fail, failForNow, KeysteadError } from "../../kernel/errors.ts";
import { MAX_HOLDERS, OIDC_CLOCK_SKEW_MS } from "../../kernel/limits.ts";
import { nonceOfPublicKey } from "../../providers/oidc/nonce.ts";
import { readToken } from "../../providers/oidc/token.ts";
import type { Reader } from "../../storage/engine.ts";
import { prepared } from "../../storage/prepared.ts";
import { contactOfToken, noteUse, openVerificationToken, readVerificationToken } from "../keys/verification-tokens.ts";
import { findUsersByContact, findVerifiedHolder } from "./contacts.ts";
import { type CredentialLookup, credentialKind, type Holder, type Verifying } from "./credential-kind.ts";
import { holderOf, selectParties } from "./holders.ts";
import { findOrganization } from "./organizations.ts";
import { findProviders } from "./providers.ts";

/** A user whom a token attests. */
interface AttestedHolder extends Holder {
  /** Milliseconds. */
  expiresAt: number;
  /** The feature that codes of this type need, if it is disabled in the user's organization; null if it is enabled. */
  featureOff: string | null;
}

/** The parts of a stamp besides its signature. Together they are the look-up key. */
type Attestation = Pick<AttestedStamp, "scheme" | "attestation" | "publicKey" | "publicKeyAsSent">;

/**
 * An ephemeral key with a token bound to it, from `verify_otp` or an OIDC issuer. Such stamps sign users in, and show a further credential for
 * an activity.
 */
export const attestedKind = credentialKind<AttestedStamp, AttestedHolder>({
  header: "x-stamp-attested",
  kindsOfOperations: ["activity", "vote"],
  paths: ["stamp_login", "approve_activity"],
  decode: decodeAttestedStamp,
  keyOf: ({ scheme, attestation, publicKey, publicKeyAsSent }) =>
    JSON.stringify({ scheme, attestation, publicKey, publicKeyAsSent } satisfies Attestation),
  keyName: "token",

  find(read, { key, ...lookup }) {
    const stamp = JSON.parse(key) as Attestation;
    return stamp.scheme === "STAMP_ATTESTED_SCHEME_P256_OIDC"
      ? findByOidcToken(read, stamp, lookup)
      : findByVerificationToken(read, stamp, lookup);
  },

  refuseUnknown: ({ organizationId }) => fail("ATTESTED_USER_NOT_FOUND", { organizationId }),
  noteFirstUse: async () => undefined,

  async verify(stamp, body, { featureOff, organization }, verifying) {
    // The result is the same for every holder.
    const verified = alreadyVerified.get(stamp) ?? verifyAttestation(stamp, body, verifying);
    alreadyVerified.set(stamp, verified);
    await verified;
    if (featureOff !== null) fail("FEATURE_OFF", { name: featureOff, organizationId: organization.id });
  },

  refuseLapsed({ expiresAt }, _lookup, now) {
    if (isOver(expiresAt, now)) refuse("its token has expired");
  },

  recordOf: ({ scheme, attestation: publicKeyAttestation, publicKey, publicKeyAsSent, signature }) => ({
    publicKey,
    scheme,
    signature: signature.toString("hex"),
    assertion: JSON.stringify({ publicKeyAttestation, publicKey: publicKeyAsSent }),
  }),

  async useUp(tx, key, organization) {
    const { scheme, attestation } = JSON.parse(key) as Attestation;
    if (scheme === "STAMP_ATTESTED_SCHEME_P256_OIDC") return;
    const token = readVerificationToken(attestation);
    if (token && !(await noteUse(tx, organization, token, "LOGIN")))
      refuse("its token has already been used for a login");
  },
});

const alreadyVerified = new WeakMap<AttestedStamp, Promise<void>>();

async function verifyAttestation(stamp: AttestedStamp, body: Uint8Array, { oidc, rootId }: Verifying): Promise<void> {
  if (!(await verifyAttestedStamp(stamp, body))) refuse("the signature does not match the body");
  // A verification token was verified when its holder was looked up.
  if (stamp.scheme !== "STAMP_ATTESTED_SCHEME_P256_OIDC") return;
  const expectedNonce = nonceOfPublicKey(stamp.publicKeyAsSent);
  try {
    await oidc.verify(stamp.attestation, {
      field: "publicKeyAttestation",
      expectedNonce,
      organizationId: rootId,
    });
  } catch (error) {
    if (!(error instanceof KeysteadError)) throw error;
    const { message: reason, retryAfterSeconds } = error;
    if (retryAfterSeconds !== undefined) failForNow("ATTESTED_STAMP_INVALID", { reason }, retryAfterSeconds);
    refuse(reason);
  }
}

function refuse(reason: string): never {
  fail("ATTESTED_STAMP_INVALID", { reason });
}

type Where = Omit<CredentialLookup, "key">;

/**
 * The users with the contact that one of our tokens proves. If the request names the parent, that is the user who verified the contact in one
 * of its sub-organizations, or, if there is none, a user of the parent itself.
 */
async function findByVerificationToken(
  read: Reader,
  { attestation, publicKey }: Attestation,
  { organizationId, reach, now }: Where,
): Promise<AttestedHolder[]> {
  // Before any look-up, because the response must not reveal who has an address.
  const token = await openVerificationToken(read, attestation, now);
  if (!token)
    return refuse(
      "its verification token was not issued here, has expired, or is from before this service was restored from a backup",
    );
  if (token.public_key !== publicKey) return refuse("its verification token is bound to another key");
  const organization = await findOrganization(read, organizationId);
  if (!organization) return [];
  if (![organization.id, organization.parentId].includes(token.organization_id)) {
    return refuse("its verification token was issued in another organization");
  }
  const contact = contactOfToken(token);
  const load = (organizationId: string, userId: string) =>
    loadHolder(read, { organizationId, userId, feature: otpFeatures[contact.type] }, contactCredential(contact), {
      expiresAt: Number(token.exp),
    });
  const isParent = organization.parentId === null;
  const holder =
    reach === "subOrganizations" && isParent ? await findVerifiedHolder(read, organization.id, contact) : undefined;
  if (holder) return load(holder.organizationId, holder.userId);
  const users = (await findUsersByContact(read, organization, contact)).slice(0, MAX_HOLDERS);
  return (await Promise.all(users.map(({ userId }) => load(organization.id, userId)))).flat();
}

/**
 * The users with an OAuth provider that matches a token's claims, in the organization, or if there is none, in its sub-organizations. The
 * token is verified afterwards, so that only issuers that a user here is registered with are contacted.
 */
async function findByOidcToken(
  read: Reader,
  { attestation, publicKeyAsSent }: Attestation,
  { organizationId, reach }: Where,
): Promise<AttestedHolder[]> {
  const { claims } = readToken(attestation, (reason) => refuse(`its OIDC token ${reason}`));
  if (!claims.nonces.includes(nonceOfPublicKey(publicKeyAsSent))) refuse("its OIDC token is bound to another key");
  const providers = await findProviders(read, claims, { organizationId, reach });
  const expiresAt = claims.exp * 1000 + OIDC_CLOCK_SKEW_MS;
  const holders = providers.map(({ id, organizationId, userId }) =>
    loadHolder(read, { organizationId, userId, feature: "" }, { id, type: attestedTypes.OAUTH }, { expiresAt }),
  );
  return (await Promise.all(holders)).flat();
}

async function loadHolder(
  read: Reader,
  party: { organizationId: string; userId: string; feature: string },
  { id, type }: { id: string; type: string },
  { expiresAt }: { expiresAt: number },
): Promise<AttestedHolder[]> {
  const rows = await selectUser(read, party);
  return rows.map((row) => {
    // Seniority does not apply, because the token identifies the holder.
    const known = { ...row, actor_organization_id: row.organization_id, credential_id: id, seniority: 0 };
    const featureOff = party.feature === "" || row.feature !== null ? null : party.feature;
    return { ...holderOf({ row: known, rank: 0 }, { type, sessionProfileId: null }), expiresAt, featureOff };
  });
}

const selectUser = prepared<{ organizationId: string; userId: string; feature: string }>()(
  (db, { organizationId, userId, feature }) =>
    selectParties(db)
      .where("o.id", "=", organizationId)
      .where("u.id", "=", userId)
      .leftJoin("organization_features as f", (join) =>
        join.onRef("f.organization_id", "=", "o.id").on("f.name", "=", feature),
      )
      .select("f.name as feature"),
);
