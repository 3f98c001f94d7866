import { Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id } from "../../engine/fields.ts";
import { Authenticator } from "../../engine/identity/user-schemas.ts";
import { renderAuthenticator } from "../../engine/identity/users.ts";
import { requireCredential } from "./store.ts";

export const getAuthenticator = query({
  path: "get_authenticator",
  summary: "One passkey.",
  request: Type.Object({ organizationId: Id, authenticatorId: Id }),
  response: Type.Object({ authenticator: Authenticator }),
  async run({ request: { authenticatorId: id }, read, organization }) {
    const row = await requireCredential(read, "authenticators", organization.id, { kind: "authenticator", id });
    return { authenticator: renderAuthenticator(row) };
  },
});
