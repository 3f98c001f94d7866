import { expiryOf } from "../../../authority/rules/credentials.ts";
import { laterInsert } from "../../../storage/prepared.ts";
import { deleteRows } from "./rows.ts";
import { revokeVotes } from "./votes.ts";
import type { Writers } from "./writers.ts";

const newApiKeys = laterInsert("api_keys", {
  id: "text",
  organization_id: "text",
  user_id: "text",
  name: "text",
  credential_type: "text",
  public_key: "text",
  session_profile_id: "text",
  expiration_seconds: "integer",
  expires_at: "integer",
  grade: "text",
  created_at: "integer",
  updated_at: "integer",
});

const idsOf = (gone: readonly { id: string }[]): string[] => gone.map(({ id }) => id);

export const credentialWriters = {
  async addApiKeys(tx, organizationId, { userId, apiKeys }) {
    for (const key of apiKeys)
      await tx.later(newApiKeys, {
        id: key.id,
        organization_id: organizationId,
        user_id: userId,
        name: key.name,
        credential_type: key.type,
        public_key: key.publicKey,
        session_profile_id: key.sessionProfileId,
        expiration_seconds: key.expirationSeconds,
        expires_at: expiryOf(key),
        grade: key.grade,
        created_at: key.createdAt,
        updated_at: key.createdAt,
      });
  },

  async removeApiKeys(tx, organizationId, { apiKeys, revokesVotes, now }) {
    await deleteRows(tx, "api_keys", { organizationId, ids: idsOf(apiKeys) });
    if (revokesVotes) await revokeVotes(tx, organizationId, apiKeys, now);
  },

  async addAuthenticators(tx, organizationId, { userId, authenticators }) {
    const rows = authenticators.map((authenticator) => ({
      id: authenticator.id,
      organization_id: organizationId,
      user_id: userId,
      name: authenticator.name,
      credential_id: authenticator.credentialId,
      public_key: authenticator.publicKey,
      aaguid: authenticator.aaguid,
      attestation_type: authenticator.attestationType,
      transports: JSON.stringify(authenticator.transports),
      rp_id_hash: authenticator.rpIdHash,
      origin: authenticator.origin,
      created_at: authenticator.createdAt,
      updated_at: authenticator.createdAt,
    }));
    await tx.insertInto("authenticators").values(rows).execute();
  },

  async removeAuthenticators(tx, organizationId, { authenticators, now }) {
    await deleteRows(tx, "authenticators", { organizationId, ids: idsOf(authenticators) });
    await revokeVotes(tx, organizationId, authenticators, now);
  },

  async addOauthProviders(tx, organizationId, { userId, oauthProviders }) {
    const rows = oauthProviders.map(({ id, name, issuer, audience, subject, createdAt }) => ({
      id,
      organization_id: organizationId,
      user_id: userId,
      name,
      issuer,
      audience,
      subject,
      created_at: createdAt,
      updated_at: createdAt,
    }));
    await tx.insertInto("oauth_providers").values(rows).execute();
  },

  async removeOauthProviders(tx, organizationId, { oauthProviders, now }) {
    await deleteRows(tx, "oauth_providers", { organizationId, ids: idsOf(oauthProviders) });
    await revokeVotes(tx, organizationId, oauthProviders, now);
  },
} satisfies Partial<Writers>;
