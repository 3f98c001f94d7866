import { Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id } from "../../engine/fields.ts";
import { Oauth2Credential } from "./model.ts";
import { renderCredential, requireCredential } from "./store.ts";

export const getOauth2Credential = query({
  path: "get_oauth2_credential",
  summary: "Get an OAuth 2.0 credential, with its secret encrypted as it was sent.",
  request: Type.Object({ organizationId: Id, oauth2CredentialId: Id }),
  response: Type.Object({ oauth2Credential: Oauth2Credential }),
  run: async ({ request: { oauth2CredentialId: id }, read, organization }) => ({
    oauth2Credential: renderCredential(await requireCredential(read, organization.id, id)),
  }),
});
