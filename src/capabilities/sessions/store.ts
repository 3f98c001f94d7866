import { Type } from "typebox";
import type { NewApiKey } from "../../authority/rules/credentials.ts";
import { addSessionKey, sessionSeconds } from "../../authority/rules/sessions.ts";
import type { Grade } from "../../authority/state.ts";
import type { Draft } from "../../authority/view.ts";
import { credentialBundle } from "../../crypto/bundles.ts";
import { normalizePublicKey } from "../../crypto/public-keys.ts";
import { Id, Label, Seconds, timestampOf } from "../../engine/fields.ts";
import { rootIdOf } from "../../engine/identity/organizations.ts";
import type { CredentialType } from "../../engine/identity/user-schemas.ts";
import { TargetPublicKey, targetOf } from "../../engine/keys/bundle-envelopes.ts";
import type { ServiceSigner } from "../../engine/keys/service-keys.ts";
import { signSessionToken } from "../../engine/keys/session-tokens.ts";
import type { Organization } from "../../engine/operations.ts";
import type { AskedSigner } from "../../engine/services.ts";
import { fail } from "../../kernel/errors.ts";
import type { HpkeMessage } from "../../signer/protocol.ts";
import type { SessionClaims } from "../../signer/statements.ts";
import type { Reader } from "../../storage/engine.ts";
import type { SessionProfile } from "./model.ts";

/** The session profiles of an organization, or for a sub-organization those of its parent; all, or only the one with this id. */
export async function findSessionProfiles(
  read: Reader,
  organization: Organization,
  id?: string,
): Promise<SessionProfile[]> {
  const rows = await read
    .selectFrom("session_profiles")
    .selectAll()
    .where("organization_id", "=", rootIdOf(organization))
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

/** The last step of every sign-in: a session key that expires, and the session token or bundle that the client receives. */

export interface Terms {
  expirationSeconds: number;
  profile?: { id: string; name: string; scope: string };
}

/**
 * The lifetime of a session and the profile that limits it.
 *
 * @throws KeysteadError RESOURCE_NOT_FOUND for a profile that neither the organization nor its parent has
 */
async function termsOf(
  read: Reader,
  organization: Organization,
  { expirationSeconds, sessionProfileId }: { expirationSeconds?: string; sessionProfileId?: string },
): Promise<Terms> {
  const asked = expirationSeconds === undefined ? undefined : Number(expirationSeconds);
  if (sessionProfileId === undefined) return { expirationSeconds: sessionSeconds(asked) };
  const [profile] = await findSessionProfiles(read, organization, sessionProfileId);
  if (!profile) {
    return fail("RESOURCE_NOT_FOUND", {
      kind: "session profile",
      id: sessionProfileId,
      organizationId: organization.id,
    });
  }
  const { sessionProfileId: id, sessionProfileName: name, scope, expirationSeconds: bound } = profile;
  const seconds = sessionSeconds(asked, bound === undefined ? undefined : Number(bound));
  return { expirationSeconds: seconds, profile: { id, name, scope } };
}

/** The public key that a client will stamp with. */
export const SessionPublicKey = Type.String({
  pattern: "^0[23][0-9a-fA-F]{64}$",
  description: "a P-256 public key in hex: 33 bytes compressed",
});

/** @throws KeysteadError FIELD_INVALID if it is not a point of the curve */
const sessionPublicKeyOf = (publicKey: string, field: string): string =>
  normalizePublicKey("API_KEY_CURVE_P256", publicKey) ??
  fail("FIELD_INVALID", { field, reason: "must be a point of the curve P-256" });

/** The default name of a session: `<what> - <RFC 3339>`. */
const sessionName = (what: string, now: number): string => `${what} - ${new Date(now).toISOString()}`;

/** The parameters common to all logins with a key pair of the client's own. */
export const loginFields = {
  publicKey: SessionPublicKey,
  expirationSeconds: Type.Optional(Seconds),
  invalidateExisting: Type.Optional(Type.Boolean()),
  sessionProfileId: Type.Optional(Id),
};
interface LoginIntent {
  publicKey: string;
  expirationSeconds?: string;
  invalidateExisting?: boolean;
  sessionProfileId?: string;
}

/** @throws KeysteadError FIELD_INVALID */
export const checkLogin = ({ publicKey }: LoginIntent): void =>
  void sessionPublicKeyOf(publicKey, "parameters.publicKey");

/** A login whose user has been identified. */
export interface Login {
  userId: string;
  terms: Terms;
  /** The signed session token for the client. */
  session: string;
}

export async function prepareLogin(
  { read, organization, signer, now }: Preparing & { signer: AskedSigner<"signStatements">; now: number },
  intent: LoginIntent,
  userId: string,
): Promise<Login> {
  const terms = await termsOf(read, organization, intent);
  const { publicKey } = intent;
  return {
    userId,
    terms,
    session: await signSession({ read, signer }, organization, { userId, publicKey }, terms, now),
  };
}

/** Adds the session key of a login to its user. */
export function addLogin(
  draft: Draft,
  { userId, terms }: Login,
  { publicKey, invalidateExisting = false }: LoginIntent,
  { id, grade, now }: { id: string; grade: Grade; now: number },
): void {
  const named = { id, name: sessionName("Login", now), type: "CREDENTIAL_TYPE_LOGIN", grade };
  const key = { ...named, publicKey: sessionPublicKeyOf(publicKey, "parameters.publicKey") };
  addKey(draft, userId, key, terms, invalidateExisting, now);
}

/** The parameters common to all sign-ins that issue a new key, encrypted to `targetPublicKey`. */
export const issuedKeyFields = {
  targetPublicKey: TargetPublicKey,
  apiKeyName: Type.Optional(Label),
  expirationSeconds: Type.Optional(Seconds),
  invalidateExisting: Type.Optional(Type.Boolean()),
};
interface IssuedKeyIntent {
  targetPublicKey: string;
  apiKeyName?: string;
  expirationSeconds?: string;
  invalidateExisting?: boolean;
}

/** A newly generated key. The server does not keep its secret. */
export interface IssuedKey {
  publicKey: string;
  /** The encrypted secret in the format that clients expect. */
  credentialBundle: string;
  terms: Terms;
}

export async function issueKey(
  { read, organization, signer }: Preparing & { signer: AskedSigner<"issueCredential"> },
  intent: IssuedKeyIntent,
): Promise<IssuedKey> {
  const { id: organizationId } = organization;
  const asked = { verb: "issueCredential", organizationId, targetPublicKey: targetOf(intent) } as const;
  const { publicKey, message } = await signer.ask(asked);
  const terms = await termsOf(read, organization, intent);
  return { publicKey, credentialBundle: credentialBundleOf(message), terms };
}

/** Adds the issued key to its user; `what` begins the default name if the request has none. */
export function addIssuedKey(
  draft: Draft,
  userId: string,
  { publicKey, terms }: Pick<IssuedKey, "publicKey" | "terms">,
  { apiKeyName, invalidateExisting = false }: Pick<IssuedKeyIntent, "apiKeyName" | "invalidateExisting">,
  { id, what, type, grade, now }: { id: string; what: string; type: CredentialType; grade: Grade; now: number },
): void {
  const key = { id, name: apiKeyName ?? sessionName(what, now), type, publicKey, grade };
  addKey(draft, userId, key, terms, invalidateExisting, now);
}

function addKey(
  draft: Draft,
  userId: string,
  key: Omit<NewApiKey, "expirationSeconds" | "sessionProfileId">,
  { expirationSeconds, profile }: Terms,
  invalidateExisting: boolean,
  now: number,
): void {
  const whole = { ...key, expirationSeconds, sessionProfileId: profile?.id ?? null };
  addSessionKey(draft, { userId, key: whole, invalidateExisting }, now);
}

interface Preparing {
  read: Reader;
  organization: Organization;
}

/** The session token for the client; `publicKey` is spelled as the client sent it, `now` is in milliseconds. */
function signSession(
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

/** A session's encrypted key in the format that clients expect. */
const credentialBundleOf = ({ encappedPublic, ciphertext }: HpkeMessage): string =>
  credentialBundle({ encapped: Buffer.from(encappedPublic, "hex"), ciphertext: Buffer.from(ciphertext, "hex") });
