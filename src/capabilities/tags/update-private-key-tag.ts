import { Type } from "typebox";
import { changeTag } from "../../authority/rules/tags.ts";
import { changesOn } from "../../authority/view.ts";
import { activity } from "../../engine/declare.ts";
import { Id, Ids, Label, Strict } from "../../engine/fields.ts";

export const updatePrivateKeyTag = activity({
  path: "update_private_key_tag",
  summary: "Rename a private key tag, attach it to private keys and detach it from others: all of it, or nothing.",
  intent: Strict({
    privateKeyTagId: Id,
    newPrivateKeyTagName: Type.Optional(Label),
    addPrivateKeyIds: Ids,
    removePrivateKeyIds: Ids,
  }),
  result: Type.Object({ privateKeyTagId: Type.String() }),
  subject: () => ({ governedBy: "policies", resource: "PRIVATE_KEY", action: "UPDATE" }),
  change: ({ view, intent, now }) =>
    changesOn(view, (draft) =>
      changeTag(draft, {
        tagId: intent.privateKeyTagId,
        type: "TAG_TYPE_PRIVATE_KEY",
        name: intent.newPrivateKeyTagName,
        addMemberIds: intent.addPrivateKeyIds,
        removeMemberIds: intent.removePrivateKeyIds,
        now,
      }),
    ),
  answer: ({ intent: { privateKeyTagId } }) => ({ privateKeyTagId }),
});
