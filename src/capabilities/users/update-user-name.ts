import { Type } from "typebox";
import { changeUser } from "../../authority/rules/users.ts";
import { changesOn } from "../../authority/view.ts";
import { activity } from "../../engine/declare.ts";
import { Id, Label, Strict } from "../../engine/fields.ts";

export const updateUserName = activity({
  path: "update_user_name",
  summary: "Rename a user.",
  intent: Strict({ userId: Id, userName: Label }),
  result: Type.Object({ userId: Type.String() }),
  subject: () => ({ governedBy: "policies", resource: "USER", action: "UPDATE" }),
  change: ({ view, intent: { userId, userName: name }, now }) =>
    changesOn(view, (draft) => changeUser(draft, userId, { name }, now)),
  answer: ({ intent: { userId } }) => ({ userId }),
});
