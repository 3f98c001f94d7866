import { capability } from "../../engine/capability.ts";
import { createPrivateKeyTag } from "./create-private-key-tag.ts";
import { createUserTag } from "./create-user-tag.ts";
import { deletePrivateKeyTags } from "./delete-private-key-tags.ts";
import { deleteUserTags } from "./delete-user-tags.ts";
import { listPrivateKeyTags } from "./list-private-key-tags.ts";
import { listUserTags } from "./list-user-tags.ts";
import { updatePrivateKeyTag } from "./update-private-key-tag.ts";
import { updateUserTag } from "./update-user-tag.ts";

export const tags = capability({
  title: "Tags",
  operations: [
    createUserTag,
    updateUserTag,
    deleteUserTags,
    listUserTags,
    createPrivateKeyTag,
    updatePrivateKeyTag,
    deletePrivateKeyTags,
    listPrivateKeyTags,
  ],
  erases: ["user_tag_members", "private_key_tag_members", "tags"],
});
