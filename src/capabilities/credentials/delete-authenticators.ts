import { Type } from "typebox";
import { activity } from "../../engine/declare.ts";
import { Id, SomeIds, Strict } from "../../engine/fields.ts";
import { changeUser } from "../users/store.ts";
import { deleteCredentials } from "./store.ts";

export const deleteAuthenticators = activity({
  path: "delete_authenticators",
  summary:
    "Delete passkeys of a user, and take back the votes given with them in activities that are still open. The user keeps a lasting credential, or in a sub-organization an OAuth provider.",
  intent: Strict({ userId: Id, authenticatorIds: SomeIds }),
  result: Type.Object({ authenticatorIds: Type.Array(Type.String()) }),
  subject: ({ userId }) => ({ governedBy: "policies", resource: "CREDENTIAL", action: "DELETE", ownerId: userId }),
  async run({ intent: { userId, authenticatorIds }, tx, organization, now, budget }) {
    await changeUser(tx, organization.id, userId, now);
    await deleteCredentials(
      { tx, organizationId: organization.id, userId, now },
      "authenticators",
      authenticatorIds,
      budget,
    );
    return { authenticatorIds };
  },
});
