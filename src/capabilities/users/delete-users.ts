import { Type } from "typebox";
import { removeUsers } from "../../authority/rules/users.ts";
import { changesOn } from "../../authority/view.ts";
import { activity } from "../../engine/declare.ts";
import { SomeIds, Strict } from "../../engine/fields.ts";

export const deleteUsers = activity({
  path: "delete_users",
  summary:
    "Delete users with their credentials, and withdraw their votes on activities that are still open. Members of the root quorum must leave it first.",
  intent: Strict({ userIds: SomeIds }),
  result: Type.Object({ userIds: Type.Array(Type.String()) }),
  subject: () => ({ governedBy: "policies", resource: "USER", action: "DELETE" }),
  change: ({ view, intent: { userIds }, now }) =>
    changesOn(view, (draft) => removeUsers(draft, userIds, now, "parameters.userIds")),
  answer: ({ intent: { userIds } }) => ({ userIds }),
});
