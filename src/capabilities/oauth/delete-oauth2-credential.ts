import { Type } from "typebox";
import { activity } from "../../engine/declare.ts";
import { Id, Strict } from "../../engine/fields.ts";
import { requireCredential } from "./store.ts";

export const deleteOauth2Credential = activity({
  path: "delete_oauth2_credential",
  summary: "Delete an OAuth 2.0 credential. Tokens that were issued with it stay valid until they expire.",
  intent: Strict({ oauth2CredentialId: Id }),
  result: Type.Object({ oauth2CredentialId: Type.String() }),
  subject: () => ({ governedBy: "policies", resource: "AUTH", action: "DELETE" }),
  async run({ intent: { oauth2CredentialId: id }, tx, organization }) {
    await requireCredential(tx, organization.id, id);
    await tx
      .deleteFrom("oauth2_credentials")
      .where("organization_id", "=", organization.id)
      .where("id", "=", id)
      .execute();
    return { oauth2CredentialId: id };
  },
});
