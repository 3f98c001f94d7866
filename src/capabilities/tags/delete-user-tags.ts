import { Type } from "typebox";
import { activity } from "../../engine/declare.ts";
import { SomeIds, Strict } from "../../engine/fields.ts";
import { removeTags, userTags } from "./store.ts";

export const deleteUserTags = activity({
  path: "delete_user_tags",
  summary: "Delete user tags. The users that carried them are named in the result and stay.",
  intent: Strict({ userTagIds: SomeIds }),
  result: Type.Object({ userTagIds: Type.Array(Type.String()), userIds: Type.Array(Type.String()) }),
  subject: () => ({ governedBy: "policies", resource: "USER", action: "DELETE" }),
  async run({ intent: { userTagIds }, tx, organization, now }) {
    const scope = { tx, organizationId: organization.id, kind: userTags, now };
    return { userTagIds, userIds: await removeTags(scope, userTagIds) };
  },
});
