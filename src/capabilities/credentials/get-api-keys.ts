import { Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id } from "../../engine/fields.ts";
import { ApiKey, renderApiKey } from "../../engine/identity/users.ts";
import { oldestFirst } from "../../engine/paging.ts";
import { requireUsers } from "../users/store.ts";

export const getApiKeys = query({
  path: "get_api_keys",
  summary: "List the API keys of a user, or of the whole organization.",
  request: Type.Object({ organizationId: Id, userId: Type.Optional(Id) }),
  response: Type.Object({ apiKeys: Type.Array(ApiKey) }),
  async run({ request: { userId }, read, organization }) {
    if (userId !== undefined) await requireUsers(read, organization.id, [userId]);
    const rows = await read
      .selectFrom("api_keys")
      .selectAll()
      .where("organization_id", "=", organization.id)
      .$if(userId !== undefined, (keys) => keys.where("user_id", "=", userId as string))
      .execute();
    return { apiKeys: rows.sort(oldestFirst).map(renderApiKey) };
  },
});
