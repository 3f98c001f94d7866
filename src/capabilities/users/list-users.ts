import { Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id } from "../../engine/fields.ts";
import { User } from "../../engine/identity/user-schemas.ts";
import { bytesOfUsers, loadUsers } from "../../engine/identity/users.ts";

export const listUsers = query({
  path: "list_users",
  summary: "List all users of the organization with their credentials and tags.",
  request: Type.Object({ organizationId: Id }),
  response: Type.Object({ users: Type.Array(User) }),
  async run({ read, organization, takeRoom }) {
    await takeRoom(await bytesOfUsers(read, organization.id));
    return { users: await loadUsers(read, organization.id) };
  },
});
