import { Type } from "typebox";
import { carriersAmong, removeTags } from "../../authority/rules/tags.ts";
import { changesOn } from "../../authority/view.ts";
import { activity } from "../../engine/declare.ts";
import { SomeIds, Strict } from "../../engine/fields.ts";

export const deletePrivateKeyTags = activity({
  path: "delete_private_key_tags",
  summary: "Delete private key tags. The private keys that had them are listed in the result and are not deleted.",
  intent: Strict({ privateKeyTagIds: SomeIds }),
  result: Type.Object({ privateKeyTagIds: Type.Array(Type.String()), privateKeyIds: Type.Array(Type.String()) }),
  subject: () => ({ governedBy: "policies", resource: "PRIVATE_KEY", action: "DELETE" }),
  change: ({ view, intent: { privateKeyTagIds }, now }) =>
    changesOn(view, (draft) => removeTags(draft, "TAG_TYPE_PRIVATE_KEY", privateKeyTagIds, now)),
  answer: ({ intent: { privateKeyTagIds }, changes }) => ({ privateKeyTagIds, privateKeyIds: carriersAmong(changes) }),
});
