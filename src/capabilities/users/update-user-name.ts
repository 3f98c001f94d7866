import { Type } from "typebox";
import { activity } from "../../engine/declare.ts";
import { Id, Label, Strict } from "../../engine/fields.ts";
import { changeUser } from "./store.ts";

export const updateUserName = activity({
  path: "update_user_name",
  summary: "Rename a user.",
  intent: Strict({ userId: Id, userName: Label }),
  result: Type.Object({ userId: Type.String() }),
  subject: () => ({ governedBy: "policies", resource: "USER", action: "UPDATE" }),
  async run({ intent: { userId, userName }, tx, organization, now }) {
    await changeUser(tx, organization.id, userId, now, { name: userName });
    return { userId };
  },
});
