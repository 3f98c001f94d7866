import { Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id } from "../../engine/fields.ts";
import { OauthProvider, renderOauthProvider } from "../../engine/identity/users.ts";
import { oldestFirst } from "../../engine/paging.ts";
import { requireUsers } from "../users/store.ts";

export const getOauthProviders = query({
  path: "get_oauth_providers",
  summary: "List the OAuth providers of a user, or of the whole organization.",
  request: Type.Object({ organizationId: Id, userId: Type.Optional(Id) }),
  response: Type.Object({ oauthProviders: Type.Array(OauthProvider) }),
  async run({ request: { userId }, read, organization }) {
    if (userId !== undefined) await requireUsers(read, organization.id, [userId]);
    const rows = await read
      .selectFrom("oauth_providers")
      .selectAll()
      .where("organization_id", "=", organization.id)
      .$if(userId !== undefined, (providers) => providers.where("user_id", "=", userId as string))
      .execute();
    return { oauthProviders: rows.sort(oldestFirst).map(renderOauthProvider) };
  },
});
