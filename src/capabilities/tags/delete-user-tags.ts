import { Type } from "typebox";
import { carriersAmong, removeTags } from "../../authority/rules/tags.ts";
import { changesOn } from "../../authority/view.ts";
import { activity } from "../../engine/declare.ts";
import { SomeIds, Strict } from "../../engine/fields.ts";

export const deleteUserTags = activity({
  path: "delete_user_tags",
  summary: "Delete user tags. The users that had them are listed in the result and are not deleted.",
  intent: Strict({ userTagIds: SomeIds }),
  result: Type.Object({ userTagIds: Type.Array(Type.String()), userIds: Type.Array(Type.String()) }),
  subject: () => ({ governedBy: "policies", resource: "USER", action: "DELETE" }),
  change: ({ view, intent: { userTagIds }, now }) =>
    changesOn(view, (draft) => removeTags(draft, "TAG_TYPE_USER", userTagIds, now)),
  answer: ({ intent: { userTagIds }, changes }) => ({ userTagIds, userIds: carriersAmong(changes) }),
});
