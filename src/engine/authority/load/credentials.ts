import { type Grade, providerAt } from "../../../authority/state.ts";
import { byStatement, byUser, type Loaders } from "./loaders.ts";

export const credentialLoaders = {
  apiKeys: {
    absent: [],
    load: byStatement(
      (db, organizationId, userIds) =>
        db
          .selectFrom("api_keys")
          .selectAll()
          .where("organization_id", "=", organizationId)
          .where("user_id", "in", userIds),
      byUser((row) => ({
        id: row.id,
        name: row.name,
        type: row.credential_type,
        publicKey: row.public_key,
        sessionProfileId: row.session_profile_id,
        expirationSeconds: row.expiration_seconds,
        grade: row.grade as Grade | null,
        createdAt: row.created_at,
      })),
    ),
  },
  apiKeyId: {
    absent: undefined,
    load: byStatement(
      (db, organizationId, publicKeys) =>
        db
          .selectFrom("api_keys")
          .select(["id", "public_key"])
          .where("organization_id", "=", organizationId)
          .where("public_key", "in", publicKeys),
      (rows) => new Map(rows.map(({ id, public_key }) => [public_key, id])),
    ),
  },
  authenticators: {
    absent: [],
    load: byStatement(
      (db, organizationId, userIds) =>
        db
          .selectFrom("authenticators")
          .selectAll()
          .where("organization_id", "=", organizationId)
          .where("user_id", "in", userIds),
      byUser((row) => ({
        id: row.id,
        name: row.name,
        credentialId: row.credential_id,
        publicKey: row.public_key,
        aaguid: row.aaguid,
        attestationType: row.attestation_type,
        transports: JSON.parse(row.transports) as string[],
        rpIdHash: row.rp_id_hash,
        origin: row.origin,
        createdAt: row.created_at,
      })),
    ),
  },
  authenticatorId: {
    absent: undefined,
    load: byStatement(
      (db, organizationId, credentialIds) =>
        db
          .selectFrom("authenticators")
          .select(["id", "credential_id"])
          .where("organization_id", "=", organizationId)
          .where("credential_id", "in", credentialIds),
      (rows) => new Map(rows.map(({ id, credential_id }) => [credential_id, id])),
    ),
  },
  oauthProviders: {
    absent: [],
    load: byStatement(
      (db, organizationId, userIds) =>
        db
          .selectFrom("oauth_providers")
          .selectAll()
          .where("organization_id", "=", organizationId)
          .where("user_id", "in", userIds),
      byUser(({ id, name, issuer, audience, subject, created_at: createdAt }) => ({
        id,
        name,
        issuer,
        audience,
        subject,
        createdAt,
      })),
    ),
  },
  oauthProviderId: {
    absent: undefined,
    load: byStatement(
      (db, organizationId, subjects) =>
        db
          .selectFrom("oauth_providers")
          .select(["id", "issuer", "audience", "subject"])
          .where("organization_id", "=", organizationId)
          .where("subject", "in", subjects),
      (rows) => new Map(rows.map((row) => [providerAt(row), row.id])),
      (place) => (JSON.parse(place) as string[])[2] as string,
    ),
  },
} satisfies Partial<Loaders>;
