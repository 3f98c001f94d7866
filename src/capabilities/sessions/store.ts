import { Type } from "typebox";
import type { NewApiKey } from "../../authority/rules/credentials.ts";
import type { Grade } from "../../authority/state.ts";
import { credentialBundle } from "../../crypto/bundles.ts";
import { normalizePublicKey } from "../../crypto/public-keys.ts";
import { timestampOf } from "../../engine/fields.ts";
import type { ServiceSigner } from "../../engine/keys/service-keys.ts";
import { type SessionClaims, signSessionToken } from "../../engine/keys/session-tokens.ts";
import type { Organization } from "../../engine/operations.ts";
import { fail } from "../../kernel/errors.ts";
import type { HpkeMessage } from "../../signer/protocol.ts";
import type { Reader } from "../../storage/engine.ts";
import type { SessionProfile } from "./model.ts";

/** The profiles that sessions of an organization may be issued with, which are its parent's, or the one named. */
export async function findSessionProfiles(
  read: Reader,
  { id: organizationId, parentId }: Organization,
  id?: string,
): Promise<SessionProfile[]> {
  const rows = await read
    .selectFrom("session_profiles")
    .selectAll()
    .where("organization_id", "=", parentId ?? organizationId)
    .$if(id !== undefined, (profiles) => profiles.where("id", "=", id as string))
    .orderBy("id")
    .execute();
  return rows.map((row) => ({
    sessionProfileId: row.id,
    sessionProfileName: row.name,
    scope: row.scope,
    ...(row.expiration_seconds === null ? {} : { expirationSeconds: String(row.expiration_seconds) }),
    ...(row.notes === null ? {} : { notes: row.notes }),
    createdAt: timestampOf(row.created_at),
    updatedAt: timestampOf(row.updated_at),
  }));
}

/** What every way of signing in ends with: a key for a while, and what its client is told of it. */

/** A session that does not say how long it lasts. */
const DEFAULT_SECONDS = 900;

export interface Terms {
  expirationSeconds: number;
  profile?: { id: string; name: string; scope: string };
}

/**
 * How long a session lasts and what it is limited to. A profile's own time is a bound on the one that is asked for.
 *
 * @throws KeysteadError RESOURCE_NOT_FOUND for a profile that neither the organization nor its parent has
 */
export async function termsOf(
  read: Reader,
  organization: Organization,
  { expirationSeconds, sessionProfileId }: { expirationSeconds?: string; sessionProfileId?: string },
): Promise<Terms> {
  const asked = expirationSeconds === undefined ? undefined : Number(expirationSeconds);
  if (sessionProfileId === undefined) return { expirationSeconds: asked ?? DEFAULT_SECONDS };
  const [profile] = await findSessionProfiles(read, organization, sessionProfileId);
  if (!profile) {
    return fail("RESOURCE_NOT_FOUND", {
      kind: "session profile",
      id: sessionProfileId,
      organizationId: organization.id,
    });
  }
  const { sessionProfileId: id, sessionProfileName: name, scope, expirationSeconds: bound } = profile;
  const most = bound === undefined ? undefined : Number(bound);
  const seconds = Math.min(asked ?? most ?? DEFAULT_SECONDS, most ?? Number.POSITIVE_INFINITY);
  return { expirationSeconds: seconds, profile: { id, name, scope } };
}

/** The key that a client means to stamp with, in the forms that clients send. */
export const SessionPublicKey = Type.String({
  pattern: "^0[23][0-9a-fA-F]{64}$",
  description: "a P-256 public key in hex: 33 bytes compressed",
});

/** @throws KeysteadError FIELD_INVALID for what is no point of the curve */
export const sessionPublicKeyOf = (publicKey: string, field: string): string =>
  normalizePublicKey("API_KEY_CURVE_P256", publicKey) ??
  fail("FIELD_INVALID", { field, reason: "must be a point of the curve P-256" });

/** The key of a session, as it is stored. */
export const sessionKeyOf = (
  key: { id: string; name: string; type: string; publicKey: string; grade: Grade },
  { expirationSeconds, profile }: Terms,
): NewApiKey => ({ ...key, expirationSeconds, sessionProfileId: profile?.id ?? null });

/** `<what> - <RFC 3339>`, for sessions that were given no name. */
export const sessionName = (what: string, now: number): string => `${what} - ${new Date(now).toISOString()}`;

/** What a client is told of its session; `publicKey` as the client sent it, `now` in milliseconds. */
export function signSession(
  signer: ServiceSigner,
  organization: Pick<Organization, "id">,
  { userId, publicKey }: { userId: string; publicKey: string },
  { expirationSeconds, profile }: Terms,
  now: number,
): Promise<string> {
  const claims: SessionClaims = {
    exp: Math.floor(now / 1000) + expirationSeconds,
    public_key: publicKey,
    session_type: profile?.name ?? "SESSION_TYPE_READ_WRITE",
    user_id: userId,
    organization_id: organization.id,
    ...(profile ? { session_profile_id: profile.id, scope: profile.scope } : {}),
  };
  return signSessionToken(signer, claims);
}

/** A session's key, encrypted, as clients take it. */
export const credentialBundleOf = ({ encappedPublic, ciphertext }: HpkeMessage): string =>
  credentialBundle({ encapped: Buffer.from(encappedPublic, "hex"), ciphertext: Buffer.from(ciphertext, "hex") });
