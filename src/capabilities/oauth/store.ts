import type { PrepareContext } from "../../engine/declare.ts";
import { timestampOf } from "../../engine/fields.ts";
import { keyOwnerOf } from "../../engine/keys/key-owner.ts";
import { publishedKeyReferences } from "../../engine/keys/service-keys.ts";
import { fail } from "../../kernel/errors.ts";
import type { Oauth2Provider } from "../../providers/oauth2/providers.ts";
import type { Reader, Transactor } from "../../storage/engine.ts";
import { clientSecretKey } from "./client-secret-key.ts";
import type { Oauth2Credential } from "./model.ts";

type Sealing = Pick<PrepareContext<unknown, "importClientSecret">, "read" | "organization" | "signer" | "now">;

/**
 * Has the signer decrypt a client secret, which is encrypted to the published key, and seal it for one credential.
 *
 * @throws KeysteadError FIELD_INVALID if it is not encrypted to such a key
 */
export async function sealClientSecret(
  { read, organization, signer, now }: Sealing,
  credentialId: string,
  encryptedClientSecret: string,
): Promise<Buffer> {
  const answer = await signer.ask({
    verb: "importClientSecret",
    ...keyOwnerOf(organization),
    credentialId,
    envelope: Buffer.from(encryptedClientSecret, "hex").toString("base64"),
    ...(await publishedKeyReferences(read, clientSecretKey, now)),
  });
  if ("problem" in answer) {
    const reason =
      "was not encrypted to a key of this server: use `serviceKeys.tlsFetcherEncrypt` of /.well-known/keystead.json";
    return fail("FIELD_INVALID", { field: "parameters.encryptedClientSecret", reason });
  }
  return Buffer.from(answer.sealedClientSecret, "base64");
}

type Row = Awaited<ReturnType<typeof findCredentials>>[number];

/** The organization's credentials, oldest first. */
export const findCredentials = (read: Reader, organizationId: string) =>
  read
    .selectFrom("oauth2_credentials")
    .selectAll()
    .where("organization_id", "=", organizationId)
    .orderBy("id")
    .execute();

/** @throws KeysteadError OAUTH2_CREDENTIAL_NOT_FOUND */
export async function requireCredential(read: Reader, organizationId: string, id: string): Promise<Row> {
  const row = await read
    .selectFrom("oauth2_credentials")
    .selectAll()
    .where("organization_id", "=", organizationId)
    .where("id", "=", id)
    .executeTakeFirst();
  return row ?? fail("OAUTH2_CREDENTIAL_NOT_FOUND", { id, organizationId });
}

/** @throws KeysteadError RESOURCE_EXISTS if another credential has this client id at this provider */
export async function refuseKnownClient(
  tx: Transactor,
  organizationId: string,
  { provider, clientId }: { provider: string; clientId: string },
  id: string,
): Promise<void> {
  const known = await tx
    .selectFrom("oauth2_credentials")
    .select("id")
    .where("organization_id", "=", organizationId)
    .where("provider", "=", provider)
    .where("client_id", "=", clientId)
    .executeTakeFirst();
  if (!known || known.id === id) return;
  const reason = `already belongs to OAuth 2.0 credential ${known.id}`;
  fail("RESOURCE_EXISTS", { kind: "OAuth 2.0 credential", field: "parameters.clientId", reason });
}

export const renderCredential = (row: Row): Oauth2Credential => ({
  oauth2CredentialId: row.id,
  organizationId: row.organization_id,
  provider: row.provider as Oauth2Provider,
  clientId: row.client_id,
  encryptedClientSecret: row.encrypted_client_secret,
  createdAt: timestampOf(row.created_at),
  updatedAt: timestampOf(row.updated_at),
});
