import { Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id } from "../../engine/fields.ts";
import { User } from "../../engine/identity/user-schemas.ts";
import { loadUser } from "../../engine/identity/users.ts";
import { fail } from "../../kernel/errors.ts";

export const getUser = query({
  path: "get_user",
  summary: "Get a user with their credentials and tags.",
  request: Type.Object({ organizationId: Id, userId: Id }),
  response: Type.Object({ user: User }),
  async run({ request: { userId }, read, organization }) {
    const user = await loadUser(read, organization.id, userId);
    if (!user) fail("RESOURCE_NOT_FOUND", { kind: "user", id: userId, organizationId: organization.id });
    return { user };
  },
});
