import { Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id } from "../../engine/fields.ts";
import { OauthProvider } from "../../engine/identity/user-schemas.ts";
import { renderOauthProvider } from "../../engine/identity/users.ts";
import { listCredentials } from "./store.ts";

export const getOauthProviders = query({
  path: "get_oauth_providers",
  summary: "List the OAuth providers of a user, or of the whole organization.",
  request: Type.Object({ organizationId: Id, userId: Type.Optional(Id) }),
  response: Type.Object({ oauthProviders: Type.Array(OauthProvider) }),
  run: async ({ request: { userId }, read, organization }) => ({
    oauthProviders: (await listCredentials(read, "oauth_providers", organization.id, userId)).map(renderOauthProvider),
  }),
});
