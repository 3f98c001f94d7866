import { Type } from "typebox";
import { activity } from "../../engine/declare.ts";
import { Strict } from "../../engine/fields.ts";
import { enforceQuota } from "../../engine/fixed-quotas.ts";
import { MAX_OAUTH2_CREDENTIALS } from "../../kernel/limits.ts";
import { credentialFields } from "./model.ts";
import { refuseKnownClient, sealClientSecret } from "./store.ts";

export const createOauth2Credential = activity({
  path: "create_oauth2_credential",
  summary:
    "Store the client ID and secret of an app at X or Discord, so that its users can sign in there. The secret must be encrypted to the key `tlsFetcherEncrypt` that this server publishes.",
  asks: ["importClientSecret"],
  intent: Strict(credentialFields),
  result: Type.Object({ oauth2CredentialId: Type.String() }),
  subject: () => ({ governedBy: "policies", resource: "AUTH", action: "CREATE" }),
  async prepare(context) {
    const id = context.id("credential");
    return { id, sealedClientSecret: await sealClientSecret(context, id, context.intent.encryptedClientSecret) };
  },
  async run({ intent, tx, organization, now, prepared: { id, sealedClientSecret } }) {
    const { provider, clientId, encryptedClientSecret } = intent;
    await refuseKnownClient(tx, organization.id, intent, id);
    await tx
      .insertInto("oauth2_credentials")
      .values({
        id,
        organization_id: organization.id,
        provider,
        client_id: clientId,
        encrypted_client_secret: encryptedClientSecret,
        sealed_client_secret: sealedClientSecret,
        created_at: now,
        updated_at: now,
      })
      .execute();
    const quota = {
      table: "oauth2_credentials",
      kind: "OAuth 2.0 credentials",
      limit: MAX_OAUTH2_CREDENTIALS,
    } as const;
    await enforceQuota(tx, quota, { organization_id: organization.id });
    return { oauth2CredentialId: id };
  },
});
