import { Type } from "typebox";
import { activity } from "../../engine/declare.ts";
import { Id, Strict } from "../../engine/fields.ts";
import { credentialFields } from "./model.ts";
import { refuseKnownClient, requireCredential, sealClientSecret } from "./store.ts";

export const updateOauth2Credential = activity({
  path: "update_oauth2_credential",
  summary: "Replace the provider, client ID and secret of an OAuth 2.0 credential.",
  asks: ["importClientSecret"],
  intent: Strict({ oauth2CredentialId: Id, ...credentialFields }),
  result: Type.Object({ oauth2CredentialId: Type.String() }),
  subject: () => ({ governedBy: "policies", resource: "AUTH", action: "UPDATE" }),
  async prepare(context) {
    const { oauth2CredentialId: id, encryptedClientSecret } = context.intent;
    await requireCredential(context.read, context.organization.id, id);
    return sealClientSecret(context, id, encryptedClientSecret);
  },
  async run({ intent, tx, organization, now, prepared: sealedClientSecret }) {
    const { oauth2CredentialId: id, provider, clientId, encryptedClientSecret } = intent;
    await requireCredential(tx, organization.id, id);
    await refuseKnownClient(tx, organization.id, intent, id);
    await tx
      .updateTable("oauth2_credentials")
      .set({
        provider,
        client_id: clientId,
        encrypted_client_secret: encryptedClientSecret,
        sealed_client_secret: sealedClientSecret,
        updated_at: now,
      })
      .where("organization_id", "=", organization.id)
      .where("id", "=", id)
      .execute();
    return { oauth2CredentialId: id };
  },
});
