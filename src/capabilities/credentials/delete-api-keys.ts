import { Type } from "typebox";
import { activity } from "../../engine/declare.ts";
import { Id, SomeIds, Strict } from "../../engine/fields.ts";
import { changeUser } from "../users/store.ts";
import { deleteCredentials } from "./store.ts";

export const deleteApiKeys = activity({
  path: "delete_api_keys",
  summary:
    "Delete API keys of a user, and take back the votes given with them in activities that are still open. The user keeps a lasting credential, or in a sub-organization an OAuth provider.",
  intent: Strict({ userId: Id, apiKeyIds: SomeIds }),
  result: Type.Object({ apiKeyIds: Type.Array(Type.String()) }),
  subject: ({ userId }) => ({ governedBy: "policies", resource: "CREDENTIAL", action: "DELETE", ownerId: userId }),
  async run({ intent: { userId, apiKeyIds }, tx, organization, now, budget }) {
    await changeUser(tx, organization.id, userId, now);
    await deleteCredentials({ tx, organizationId: organization.id, userId, now }, "api_keys", apiKeyIds, budget);
    return { apiKeyIds };
  },
});
