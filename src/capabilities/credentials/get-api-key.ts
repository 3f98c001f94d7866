import { Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id } from "../../engine/fields.ts";
import { ApiKey, renderApiKey } from "../../engine/identity/users.ts";
import { fail } from "../../kernel/errors.ts";

export const getApiKey = query({
  path: "get_api_key",
  summary: "Get an API key.",
  request: Type.Object({ organizationId: Id, apiKeyId: Id }),
  response: Type.Object({ apiKey: ApiKey }),
  async run({ request: { apiKeyId }, read, organization }) {
    const row = await read
      .selectFrom("api_keys")
      .selectAll()
      .where("organization_id", "=", organization.id)
      .where("id", "=", apiKeyId)
      .executeTakeFirst();
    if (!row) fail("RESOURCE_NOT_FOUND", { kind: "API key", id: apiKeyId, organizationId: organization.id });
    return { apiKey: renderApiKey(row) };
  },
});
