import { createHash } from "node:crypto";
import { type Kysely, sql } from "kysely";
import { type ApiKeyStamp, decodeApiKeyStamp, verifyApiKeyStamp } from "../../crypto/stamps.ts";
import { decodeWebAuthnStamp, verifyWebAuthnStamp, type WebAuthnStamp } from "../../crypto/webauthn-assertion.ts";
import { parseOrigins } from "../../crypto/webauthn-data.ts";
import { fail } from "../../kernel/errors.ts";
import type { Reader } from "../../storage/engine.ts";
import { prepared } from "../../storage/prepared.ts";
import type { Schema } from "../../storage/schema.ts";
import type { Actor, Organization } from "../operations.ts";
import { type Allowlist, type Allowlists, refuseAddress } from "./ip-allowlists.ts";

/** The stamp headers of a request, as they came. */
export interface StampHeaders {
  apiKey: string | undefined;
  webAuthn: string | undefined;
}

/** A stamp whose form is right; nothing is verified yet. */
export type Stamp = { kind: "apiKey"; stamp: ApiKeyStamp } | { kind: "webAuthn"; stamp: WebAuthnStamp };

/** How a vote remembers the stamp it came with. */
export interface StampRecord {
  publicKey: string;
  signature: string;
  scheme: string;
}

/** What finds the credential again, inside the transaction that decides. */
export type CredentialKey = { kind: "apiKey"; publicKey: string } | { kind: "webAuthn"; credentialId: string };

/** A user known by a verified stamp, for one organization. */
export interface Principal {
  organization: Organization;
  actor: Actor;
  credentialKey: CredentialKey;
  stampRecord: StampRecord;
  /** Where the request came from, as the network layer tells it. */
  remoteAddress: string | undefined;
}

/** @throws KeysteadError with a 401: none, more than one, or a malformed stamp */
export function decodeStamp({ apiKey, webAuthn }: StampHeaders): Stamp {
  if (apiKey !== undefined && webAuthn !== undefined) fail("STAMP_AMBIGUOUS", {});
  if (apiKey !== undefined) return { kind: "apiKey", stamp: decodeApiKeyStamp(apiKey) };
  if (webAuthn !== undefined) return { kind: "webAuthn", stamp: decodeWebAuthnStamp(webAuthn) };
  return fail("STAMP_MISSING", {});
}

/** Where a credential is looked for: the organization and its parent, or after them its sub-organizations. */
export type Reach = "organization" | "subOrganizations";

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
 * The user who made `stamp` over `body`, looked up in the organization of the request and then in its parent. Where the
 * request comes from is held against the allowlist of the user's own organization.
 *
 * @throws KeysteadError with a 401, or IP_NOT_ALLOWED
 */
export async function authenticate(
  read: Reader,
  { stamp, body, organizationId, reach, remoteAddress, now }: StampedBody,
): Promise<Principal> {
  if (stamp.kind === "apiKey") {
    const { publicKey, scheme, signatureAsSent, curve } = stamp.stamp;
    const credentialKey = { kind: "apiKey", publicKey } as const;
    const found = await findApiKeyHolder(read, { organizationId, publicKey, reach });
    if (curveOfCredential(found.actor.credential.type) !== curve) {
      fail("API_KEY_SIGNATURE_INVALID", { reason: `the key is not registered for ${scheme}` });
    }
    if (!(await verifyApiKeyStamp(stamp.stamp, body))) {
      fail("API_KEY_SIGNATURE_INVALID", { reason: "the signature does not match the body" });
    }
    refuseExpired(found, organizationId, publicKey, now);
    refuseAddress(found.allowlists, found.actor.organizationId, remoteAddress);
    const stampRecord = { publicKey, scheme, signature: signatureAsSent.toString("hex") };
    return { organization: found.organization, actor: found.actor, credentialKey, stampRecord, remoteAddress };
  }
  const { credentialId, signature } = stamp.stamp;
  const found = await findAuthenticatorHolder(read, { organizationId, credentialId, reach });
  const { publicKey, rpIdHash, allowedOrigins } = found;
  await verifyWebAuthnStamp(stamp.stamp, body, { publicKey, rpIdHash, allowedOrigins });
  refuseAddress(found.allowlists, found.actor.organizationId, remoteAddress);
  return {
    organization: found.organization,
    actor: found.actor,
    credentialKey: { kind: "webAuthn", credentialId },
    stampRecord: {
      publicKey: found.publicKey.toString("hex"),
      scheme: "SIGNATURE_SCHEME_TK_WEBAUTHN",
      signature: signature.toString("hex"),
    },
    remoteAddress,
  };
}

/**
 * The same user as of now, without the signature: between the stamp and the decision the credential may have gone, the
 * user may have left the root quorum, the allowlist may have changed.
 *
 * @throws KeysteadError with a 401, or IP_NOT_ALLOWED
 */
export async function reload(read: Reader, principal: Principal, now: number): Promise<Principal> {
  const { credentialKey, organization, remoteAddress } = principal;
  const within = { organizationId: organization.id, reach: "organization" } as const;
  if (credentialKey.kind === "webAuthn") {
    const found = await findAuthenticatorHolder(read, { ...within, credentialId: credentialKey.credentialId });
    refuseAddress(found.allowlists, found.actor.organizationId, remoteAddress);
    return { ...principal, organization: found.organization, actor: found.actor };
  }
  const found = await findApiKeyHolder(read, { ...within, publicKey: credentialKey.publicKey });
  refuseExpired(found, organization.id, credentialKey.publicKey, now);
  refuseAddress(found.allowlists, found.actor.organizationId, remoteAddress);
  return { ...principal, organization: found.organization, actor: found.actor };
}

interface Holder {
  organization: Organization;
  actor: Actor;
  /** What its own organization says of where the credential may be used. */
  allowlists: Allowlists;
}

type Within<Key> = Key & { organizationId: string; reach: Reach };

async function findApiKeyHolder(
  read: Reader,
  { organizationId, publicKey, reach }: Within<{ publicKey: string }>,
): Promise<Holder & { expiresAt: number | null }> {
  const rows = await selectApiKeyHolders(read, { organizationId, publicKey });
  const row =
    ownFirst(rows, organizationId) ??
    (reach === "subOrganizations"
      ? onlyOne(await selectSubOrganizationApiKeyHolders(read, { organizationId, publicKey }), "public key")
      : undefined);
  if (!row) return fail("PUBLIC_KEY_NOT_FOUND", { organizationId, publicKey });
  const ofKey = allowlistOf(row.key_rules, row.key_on_evaluation_error);
  const credential = { type: row.credential_type, sessionProfileId: row.session_profile_id };
  return { ...holderOf(row, credential, ofKey), expiresAt: row.expires_at };
}

async function findAuthenticatorHolder(
  read: Reader,
  { organizationId, credentialId, reach }: Within<{ credentialId: string }>,
): Promise<Holder & { publicKey: Buffer; rpIdHash: Buffer; allowedOrigins: string[] | undefined }> {
  const rows = await selectAuthenticatorHolders(read, { organizationId, credentialId });
  const row =
    ownFirst(rows, organizationId) ??
    (reach === "subOrganizations"
      ? onlyOne(
          await selectSubOrganizationAuthenticatorHolders(read, { organizationId, credentialId }),
          "credential ID",
        )
      : undefined);
  if (!row) return fail("CREDENTIAL_NOT_FOUND", { organizationId, credentialId });
  return {
    ...holderOf(row, { type: "CREDENTIAL_TYPE_WEBAUTHN_AUTHENTICATOR", sessionProfileId: null }),
    publicKey: Buffer.from(row.public_key),
    rpIdHash: Buffer.from(row.rp_id_hash),
    // A rule that cannot be read allows nothing.
    allowedOrigins: row.origins_rule === null ? undefined : (parseOrigins(row.allowed_origins ?? "") ?? []),
  };
}

/** The same key in both: the sub-organization's user wins. */
const ownFirst = <Row extends { actor_organization_id: string }>(
  rows: Row[],
  organizationId: string,
): Row | undefined => rows.find((row) => row.actor_organization_id === organizationId) ?? rows[0];

/** A credential that several sub-organizations know does not tell which of them is meant. */
function onlyOne<Row>(rows: Row[], kind: string): Row | undefined {
  if (rows.length > 1) fail("CREDENTIAL_AMBIGUOUS", { kind });
  return rows[0];
}

interface HolderRow {
  organization_id: string;
  parent_id: string | null;
  organization_name: string;
  sealed_key: Uint8Array;
  quorum_threshold: number;
  policies_version: number;
  actor_organization_id: string;
  credential_id: string;
  user_id: string;
  user_name: string;
  mfa_policies: number;
  root_member: string | null;
  allowlist_rules: string | null;
  allowlist_on_evaluation_error: Allowlist["onEvaluationError"] | null;
}

const allowlistOf = (
  rules: string | null,
  onEvaluationError: Allowlist["onEvaluationError"] | null,
): Allowlist | undefined => (rules === null || onEvaluationError === null ? undefined : { rules, onEvaluationError });

function holderOf(
  row: HolderRow,
  { type, sessionProfileId }: { type: string; sessionProfileId: string | null },
  ofKey?: Allowlist,
): Holder {
  return {
    allowlists: { ofOrganization: allowlistOf(row.allowlist_rules, row.allowlist_on_evaluation_error), ofKey },
    organization: {
      id: row.organization_id,
      parentId: row.parent_id,
      name: row.organization_name,
      sealedKey: row.sealed_key,
      quorumThreshold: row.quorum_threshold,
      policiesVersion: row.policies_version,
    },
    actor: {
      userId: row.user_id,
      userName: row.user_name,
      organizationId: row.actor_organization_id,
      isRootQuorumMember: row.root_member !== null,
      hasMfaPolicies: row.mfa_policies > 0,
      credential: {
        id: row.credential_id,
        type,
        ...(sessionProfileId === null ? {} : { sessionProfileId }),
      },
    },
  };
}

function refuseExpired(
  found: { expiresAt: number | null },
  organizationId: string,
  publicKey: string,
  now: number,
): void {
  if (found.expiresAt !== null && found.expiresAt <= now) fail("API_KEY_EXPIRED", { organizationId, publicKey });
}

/** Every credential type that is not said otherwise holds a P-256 key. */
function curveOfCredential(type: string): string {
  if (type === "CREDENTIAL_TYPE_API_KEY_SECP256K1") return "API_KEY_CURVE_SECP256K1";
  if (type === "CREDENTIAL_TYPE_API_KEY_ED25519") return "API_KEY_CURVE_ED25519";
  return "API_KEY_CURVE_P256";
}

/**
 * Of the organization `o`, the credential `c`, its user `u`, the user's seat `m` in the root quorum, and the allowlist `a` of
 * their organization where it is enabled.
 */
const holderColumns = [
  "o.id as organization_id",
  "o.parent_id",
  "o.name as organization_name",
  "o.sealed_key",
  "o.quorum_threshold",
  "o.policies_version",
  "c.organization_id as actor_organization_id",
  "c.id as credential_id",
  "u.id as user_id",
  "u.name as user_name",
  "u.mfa_policies",
  "m.user_id as root_member",
  "a.rules as allowlist_rules",
  "a.on_evaluation_error as allowlist_on_evaluation_error",
] as const;

type Db = Pick<Kysely<Schema>, "selectFrom">;
type KeyLookup = { organizationId: string; publicKey: string };
type CredentialLookup = { organizationId: string; credentialId: string };

/**
 * Credentials of one kind as `c`, with the organization `o` of the request, the holder `u`, the holder's seat `m` in the
 * root quorum, and the IP allowlist `a` of the holder's organization, if it is enabled.
 */
const holders = (db: Db, credentials: "api_keys as c" | "authenticators as c") =>
  db
    .selectFrom("organizations as o")
    // Both kinds have the columns that are named here; what only one has is named by `sql.ref`.
    .innerJoin(credentials as "api_keys as c", (join) =>
      join.on((on) =>
        on.or([on("c.organization_id", "=", on.ref("o.id")), on("c.organization_id", "=", on.ref("o.parent_id"))]),
      ),
    )
    .innerJoin("users as u", (join) =>
      join.onRef("u.organization_id", "=", "c.organization_id").onRef("u.id", "=", "c.user_id"),
    )
    .leftJoin("root_quorum_members as m", (join) =>
      join.onRef("m.organization_id", "=", "c.organization_id").onRef("m.user_id", "=", "c.user_id"),
    )
    .leftJoin("ip_allowlists as a", (join) =>
      join
        .onRef("a.organization_id", "=", "c.organization_id")
        .onRef("a.id", "=", "c.organization_id")
        .on("a.enabled", "=", 1),
    )
    .select([...holderColumns]);

const apiKeyHolders = (db: Db, { publicKey }: KeyLookup) =>
  holders(db, "api_keys as c")
    .where("c.public_key", "=", publicKey)
    // A key's list counts only beside an enabled one of the organization; without that nothing is looked up.
    .leftJoin("ip_allowlists as k", (join) =>
      join.onRef("k.organization_id", "=", "a.organization_id").onRef("k.id", "=", "c.id"),
    )
    .select([
      "c.credential_type",
      "c.expires_at",
      "c.session_profile_id",
      "k.rules as key_rules",
      "k.on_evaluation_error as key_on_evaluation_error",
    ]);

const selectApiKeyHolders = prepared<KeyLookup>()((db, lookup) =>
  apiKeyHolders(db, lookup).where("o.id", "=", lookup.organizationId),
);
const selectSubOrganizationApiKeyHolders = prepared<KeyLookup>()((db, lookup) =>
  apiKeyHolders(db, lookup)
    .where("o.parent_id", "=", lookup.organizationId)
    .whereRef("c.organization_id", "=", "o.id")
    .limit(2),
);

const authenticatorHolders = (db: Db, { credentialId }: CredentialLookup) =>
  holders(db, "authenticators as c")
    .where(sql.ref("c.credential_id"), "=", credentialId)
    // A parent's rule on origins holds for its sub-organizations.
    .leftJoin("organization_features as f", (join) =>
      join
        .on((on) => on("f.organization_id", "=", on.fn.coalesce("o.parent_id", "o.id")))
        .on("f.name", "=", "FEATURE_NAME_WEBAUTHN_ORIGINS"),
    )
    .select([
      sql.ref<Uint8Array>("c.public_key").as("public_key"),
      sql.ref<Uint8Array>("c.rp_id_hash").as("rp_id_hash"),
      "f.name as origins_rule",
      "f.value as allowed_origins",
    ]);

const selectAuthenticatorHolders = prepared<CredentialLookup>()((db, lookup) =>
  authenticatorHolders(db, lookup).where("o.id", "=", lookup.organizationId),
);
const selectSubOrganizationAuthenticatorHolders = prepared<CredentialLookup>()((db, lookup) =>
  authenticatorHolders(db, lookup)
    .where("o.parent_id", "=", lookup.organizationId)
    .whereRef("c.organization_id", "=", "o.id")
    .limit(2),
);

/** What identifies a body: `sha256:` and the lowercase hex of its SHA-256. */
export const fingerprintOf = (body: Uint8Array): string => `sha256:${createHash("sha256").update(body).digest("hex")}`;
