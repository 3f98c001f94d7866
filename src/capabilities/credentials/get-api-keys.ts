import { Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id } from "../../engine/fields.ts";
import { ApiKey } from "../../engine/identity/user-schemas.ts";
import { renderApiKey } from "../../engine/identity/users.ts";
import { listCredentials } from "./store.ts";

export const getApiKeys = query({
  path: "get_api_keys",
  summary: "List the API keys of a user, or of the whole organization.",
  request: Type.Object({ organizationId: Id, userId: Type.Optional(Id) }),
  response: Type.Object({ apiKeys: Type.Array(ApiKey) }),
  run: async ({ request: { userId }, read, organization }) => ({
    apiKeys: (await listCredentials(read, "api_keys", organization.id, userId)).map(renderApiKey),
  }),
});
