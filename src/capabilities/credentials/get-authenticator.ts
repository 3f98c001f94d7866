import { Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id } from "../../engine/fields.ts";
import { Authenticator, renderAuthenticator } from "../../engine/identity/users.ts";
import { fail } from "../../kernel/errors.ts";

export const getAuthenticator = query({
  path: "get_authenticator",
  summary: "One passkey.",
  request: Type.Object({ organizationId: Id, authenticatorId: Id }),
  response: Type.Object({ authenticator: Authenticator }),
  async run({ request: { authenticatorId: id }, read, organization }) {
    const row = await read
      .selectFrom("authenticators")
      .selectAll()
      .where("organization_id", "=", organization.id)
      .where("id", "=", id)
      .executeTakeFirst();
    if (!row) fail("RESOURCE_NOT_FOUND", { kind: "authenticator", id, organizationId: organization.id });
    return { authenticator: renderAuthenticator(row) };
  },
});
