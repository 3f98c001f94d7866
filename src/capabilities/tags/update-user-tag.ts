import { Type } from "typebox";
import { changeTag } from "../../authority/rules/tags.ts";
import { changesOn } from "../../authority/view.ts";
import { activity } from "../../engine/declare.ts";
import { Id, Ids, Label, Strict } from "../../engine/fields.ts";

export const updateUserTag = activity({
  path: "update_user_tag",
  summary: "Rename a user tag, attach it to users and detach it from others: all of it, or nothing.",
  intent: Strict({
    userTagId: Id,
    newUserTagName: Type.Optional(Label),
    addUserIds: Ids,
    removeUserIds: Ids,
  }),
  result: Type.Object({ userTagId: Type.String() }),
  subject: () => ({ governedBy: "policies", resource: "USER", action: "UPDATE" }),
  change: ({ view, intent, now }) =>
    changesOn(view, (draft) =>
      changeTag(draft, {
        tagId: intent.userTagId,
        type: "TAG_TYPE_USER",
        name: intent.newUserTagName,
        addMemberIds: intent.addUserIds,
        removeMemberIds: intent.removeUserIds,
        now,
      }),
    ),
  answer: ({ intent: { userTagId } }) => ({ userTagId }),
});
