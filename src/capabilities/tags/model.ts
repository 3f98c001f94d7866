import { Type } from "typebox";
import { OneOf, Timestamp } from "../../engine/fields.ts";

export const Tag = Type.Object(
  {
    tagId: Type.String(),
    tagName: Type.String(),
    tagType: OneOf(["TAG_TYPE_USER", "TAG_TYPE_PRIVATE_KEY"]),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  { $id: "Tag" },
);
