import { Type } from "typebox";
import { activity } from "../../engine/declare.ts";
import { Ids, Label, Strict } from "../../engine/fields.ts";
import { addTag, userTags } from "./store.ts";

export const createUserTag = activity({
  path: "create_user_tag",
  summary: "Create a user tag and attach it to users.",
  intent: Strict({ userTagName: Label, userIds: Ids }),
  result: Type.Object({ userTagId: Type.String(), userIds: Type.Array(Type.String()) }),
  subject: () => ({ governedBy: "policies", resource: "USER", action: "CREATE" }),
  async run({ intent: { userTagName, userIds }, tx, organization, now }) {
    const scope = { tx, organizationId: organization.id, kind: userTags, now };
    return { userTagId: await addTag(scope, userTagName, userIds), userIds };
  },
});
