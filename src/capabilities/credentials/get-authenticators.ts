import { Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id } from "../../engine/fields.ts";
import { Authenticator, renderAuthenticator } from "../../engine/identity/users.ts";
import { oldestFirst } from "../../engine/paging.ts";
import { requireUsers } from "../users/store.ts";

export const getAuthenticators = query({
  path: "get_authenticators",
  summary: "List the passkeys of a user.",
  request: Type.Object({ organizationId: Id, userId: Id }),
  response: Type.Object({ authenticators: Type.Array(Authenticator) }),
  async run({ request: { userId }, read, organization }) {
    await requireUsers(read, organization.id, [userId]);
    const rows = await read
      .selectFrom("authenticators")
      .selectAll()
      .where("organization_id", "=", organization.id)
      .where("user_id", "=", userId)
      .execute();
    return { authenticators: rows.sort(oldestFirst).map(renderAuthenticator) };
  },
});
