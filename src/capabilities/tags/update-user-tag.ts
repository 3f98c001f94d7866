import { Type } from "typebox";
import { activity } from "../../engine/declare.ts";
import { Id, Ids, Label, Strict } from "../../engine/fields.ts";
import { changeTag, userTags } from "./store.ts";

export const updateUserTag = activity({
  path: "update_user_tag",
  summary: "Rename a user tag, attach it to users and detach it from others; all of it or nothing.",
  intent: Strict({
    userTagId: Id,
    newUserTagName: Type.Optional(Label),
    addUserIds: Ids,
    removeUserIds: Ids,
  }),
  result: Type.Object({ userTagId: Type.String() }),
  subject: () => ({ governedBy: "policies", resource: "USER", action: "UPDATE" }),
  async run({ intent, tx, organization, now }) {
    const scope = { tx, organizationId: organization.id, kind: userTags, now };
    await changeTag(scope, intent.userTagId, {
      name: intent.newUserTagName,
      addMemberIds: intent.addUserIds,
      removeMemberIds: intent.removeUserIds,
    });
    return { userTagId: intent.userTagId };
  },
});
