import { Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id } from "../../engine/fields.ts";
import { Tag } from "./model.ts";
import { findTags, privateKeyTags } from "./store.ts";

export const listPrivateKeyTags = query({
  path: "list_private_key_tags",
  summary: "List all private key tags of the organization.",
  request: Type.Object({ organizationId: Id }),
  response: Type.Object({ privateKeyTags: Type.Array(Tag) }),
  run: async ({ read, organization }) => ({ privateKeyTags: await findTags(read, organization.id, privateKeyTags) }),
});
