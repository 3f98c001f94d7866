import { Type } from "typebox";
import { removeCredentials } from "../../authority/rules/removed-credentials.ts";
import { changesOn } from "../../authority/view.ts";
import { activity } from "../../engine/declare.ts";
import { Id, SomeIds, Strict } from "../../engine/fields.ts";

export const deleteOauthProviders = activity({
  path: "delete_oauth_providers",
  summary:
    "Delete OAuth providers of a user, and withdraw votes that were cast with them on activities that are still open. The user must keep a long-lived credential or another provider.",
  intent: Strict({ userId: Id, providerIds: SomeIds }),
  result: Type.Object({ providerIds: Type.Array(Type.String()) }),
  subject: ({ userId }) => ({ governedBy: "policies", resource: "CREDENTIAL", action: "DELETE", ownerId: userId }),
  change: ({ view, evaluate, organization, intent: { userId, providerIds }, now }) =>
    changesOn(view, (draft) => {
      const scope = { userId, isSubOrganization: organization.parentId !== null, evaluate, now };
      removeCredentials(draft, "oauthProviders", providerIds, scope);
    }),
  answer: ({ intent: { providerIds } }) => ({ providerIds }),
});
