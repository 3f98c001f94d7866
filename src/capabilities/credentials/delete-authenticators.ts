import { Type } from "typebox";
import { removeCredentials } from "../../authority/rules/removed-credentials.ts";
import { changesOn } from "../../authority/view.ts";
import { activity } from "../../engine/declare.ts";
import { Id, SomeIds, Strict } from "../../engine/fields.ts";

export const deleteAuthenticators = activity({
  path: "delete_authenticators",
  summary:
    "Delete passkeys of a user, and withdraw votes that were cast with them on activities that are still open. The user must keep a long-lived credential or, in a sub-organization, an OAuth provider.",
  intent: Strict({ userId: Id, authenticatorIds: SomeIds }),
  result: Type.Object({ authenticatorIds: Type.Array(Type.String()) }),
  subject: ({ userId }) => ({ governedBy: "policies", resource: "CREDENTIAL", action: "DELETE", ownerId: userId }),
  change: ({ view, evaluate, organization, intent: { userId, authenticatorIds }, now }) =>
    changesOn(view, (draft) => {
      const scope = { userId, isSubOrganization: organization.parentId !== null, evaluate, now };
      removeCredentials(draft, "authenticators", authenticatorIds, scope);
    }),
  answer: ({ intent: { authenticatorIds } }) => ({ authenticatorIds }),
});
