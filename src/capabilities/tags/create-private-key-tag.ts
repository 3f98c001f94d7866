import { Type } from "typebox";
import { addTag } from "../../authority/rules/tags.ts";
import { changesOn } from "../../authority/view.ts";
import { activity } from "../../engine/declare.ts";
import { Ids, Label, Strict } from "../../engine/fields.ts";

export const createPrivateKeyTag = activity({
  path: "create_private_key_tag",
  summary: "Create a private key tag and attach it to private keys.",
  intent: Strict({ privateKeyTagName: Label, privateKeyIds: Ids }),
  result: Type.Object({ privateKeyTagId: Type.String(), privateKeyIds: Type.Array(Type.String()) }),
  subject: () => ({ governedBy: "policies", resource: "PRIVATE_KEY", action: "CREATE" }),
  change: ({ view, id, intent: { privateKeyTagName: name, privateKeyIds: memberIds }, now }) =>
    changesOn(view, (draft) => addTag(draft, { id: id("tag"), type: "TAG_TYPE_PRIVATE_KEY", name, memberIds, now })),
  answer: ({ id, intent: { privateKeyIds } }) => ({ privateKeyTagId: id("tag"), privateKeyIds }),
});
