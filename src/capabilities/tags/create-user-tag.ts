import { Type } from "typebox";
import { addTag } from "../../authority/rules/tags.ts";
import { changesOn } from "../../authority/view.ts";
import { activity } from "../../engine/declare.ts";
import { Ids, Label, Strict } from "../../engine/fields.ts";

export const createUserTag = activity({
  path: "create_user_tag",
  summary: "Create a user tag and attach it to users.",
  intent: Strict({ userTagName: Label, userIds: Ids }),
  result: Type.Object({ userTagId: Type.String(), userIds: Type.Array(Type.String()) }),
  subject: () => ({ governedBy: "policies", resource: "USER", action: "CREATE" }),
  change: ({ view, id, intent: { userTagName: name, userIds: memberIds }, now }) =>
    changesOn(view, (draft) => addTag(draft, { id: id("tag"), type: "TAG_TYPE_USER", name, memberIds, now })),
  answer: ({ id, intent: { userIds } }) => ({ userTagId: id("tag"), userIds }),
});
