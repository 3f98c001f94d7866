import { Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id } from "../../engine/fields.ts";
import { ApiKey } from "../../engine/identity/user-schemas.ts";
import { renderApiKey } from "../../engine/identity/users.ts";
import { requireCredential } from "./store.ts";

export const getApiKey = query({
  path: "get_api_key",
  summary: "Get an API key.",
  request: Type.Object({ organizationId: Id, apiKeyId: Id }),
  response: Type.Object({ apiKey: ApiKey }),
  async run({ request: { apiKeyId: id }, read, organization }) {
    const row = await requireCredential(read, "api_keys", organization.id, { kind: "API key", id });
    return { apiKey: renderApiKey(row) };
  },
});
