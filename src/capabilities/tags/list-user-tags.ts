import { Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id } from "../../engine/fields.ts";
import { Tag } from "./model.ts";
import { findTags, userTags } from "./store.ts";

export const listUserTags = query({
  path: "list_user_tags",
  summary: "List all user tags of the organization.",
  request: Type.Object({ organizationId: Id }),
  response: Type.Object({ userTags: Type.Array(Tag) }),
  run: async ({ read, organization }) => ({ userTags: await findTags(read, organization.id, userTags) }),
});
