import { Type } from "typebox";
import { activity } from "../../engine/declare.ts";
import { Id, SomeIds, Strict } from "../../engine/fields.ts";
import { changeUser } from "../users/store.ts";
import { deleteCredentials } from "./store.ts";

export const deleteOauthProviders = activity({
  path: "delete_oauth_providers",
  summary:
    "Delete OAuth providers of a user, and take back the votes given with them in activities that are still open. The user keeps a lasting credential or another provider.",
  intent: Strict({ userId: Id, providerIds: SomeIds }),
  result: Type.Object({ providerIds: Type.Array(Type.String()) }),
  subject: ({ userId }) => ({ governedBy: "policies", resource: "CREDENTIAL", action: "DELETE", ownerId: userId }),
  async run({ intent: { userId, providerIds }, tx, organization, now, budget }) {
    await changeUser(tx, organization.id, userId, now);
    const owner = { tx, organizationId: organization.id, userId, now };
    await deleteCredentials(owner, "oauth_providers", providerIds, budget);
    return { providerIds };
  },
});
