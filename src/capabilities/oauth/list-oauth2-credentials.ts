import { Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id } from "../../engine/fields.ts";
import { Oauth2Credential } from "./model.ts";
import { findCredentials, renderCredential } from "./store.ts";

export const listOauth2Credentials = query({
  path: "list_oauth2_credentials",
  summary: "List the OAuth 2.0 credentials of the organization, the oldest first.",
  request: Type.Object({ organizationId: Id }),
  response: Type.Object({ oauth2Credentials: Type.Array(Oauth2Credential) }),
  run: async ({ read, organization }) => ({
    oauth2Credentials: (await findCredentials(read, organization.id)).map(renderCredential),
  }),
});
