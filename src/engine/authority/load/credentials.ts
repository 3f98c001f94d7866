import { type Grade, providerAt } from "../../../authority/state.ts";
import { credentialsOfUsers } from "../../identity/credential-rows.ts";
import { byStatement, byUser, type Loaders } from "./loaders.ts";

/** A loader of the ids of credentials, by what is unique about them within the organization. */
const idBy = (table: "api_keys" | "authenticators", column: "public_key" | "credential_id") => ({
  absent: undefined,
  load: byStatement(
    (db, organizationId, values) =>
      db
        // The cast picks one of the tables for the compiler.
        .selectFrom(table as "api_keys")
        .select(["id", `${column as "public_key"} as value`])
        .where("organization_id", "=", organizationId)
        .where(column as "public_key", "in", values),
    (rows) => new Map(rows.map(({ id, value }) => [value, id])),
  ),
});

export const credentialLoaders = {
  apiKeys: {
    absent: [],
    load: byStatement(
      (db, organizationId, userIds) => credentialsOfUsers(db, "api_keys", organizationId, userIds),
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
  apiKeyId: idBy("api_keys", "public_key"),
  authenticators: {
    absent: [],
    load: byStatement(
      (db, organizationId, userIds) => credentialsOfUsers(db, "authenticators", organizationId, userIds),
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
  authenticatorId: idBy("authenticators", "credential_id"),
  oauthProviders: {
    absent: [],
    load: byStatement(
      (db, organizationId, userIds) => credentialsOfUsers(db, "oauth_providers", organizationId, userIds),
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
