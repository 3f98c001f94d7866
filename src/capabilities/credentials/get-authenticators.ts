import { Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id } from "../../engine/fields.ts";
import { Authenticator } from "../../engine/identity/user-schemas.ts";
import { renderAuthenticator } from "../../engine/identity/users.ts";
import { listCredentials } from "./store.ts";

export const getAuthenticators = query({
  path: "get_authenticators",
  summary: "List the passkeys of a user.",
  request: Type.Object({ organizationId: Id, userId: Id }),
  response: Type.Object({ authenticators: Type.Array(Authenticator) }),
  run: async ({ request: { userId }, read, organization }) => ({
    authenticators: (await listCredentials(read, "authenticators", organization.id, userId)).map(renderAuthenticator),
  }),
});
