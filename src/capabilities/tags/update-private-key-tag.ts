import { Type } from "typebox";
import { activity } from "../../engine/declare.ts";
import { Id, Ids, Label, Strict } from "../../engine/fields.ts";
import { changeTag, privateKeyTags } from "./store.ts";

export const updatePrivateKeyTag = activity({
  path: "update_private_key_tag",
  summary: "Rename a private key tag, attach it to private keys and detach it from others; all of it or nothing.",
  intent: Strict({
    privateKeyTagId: Id,
    newPrivateKeyTagName: Type.Optional(Label),
    addPrivateKeyIds: Ids,
    removePrivateKeyIds: Ids,
  }),
  result: Type.Object({ privateKeyTagId: Type.String() }),
  subject: () => ({ governedBy: "policies", resource: "PRIVATE_KEY", action: "UPDATE" }),
  async run({ intent, tx, organization, now }) {
    const scope = { tx, organizationId: organization.id, kind: privateKeyTags, now };
    await changeTag(scope, intent.privateKeyTagId, {
      name: intent.newPrivateKeyTagName,
      addMemberIds: intent.addPrivateKeyIds,
      removeMemberIds: intent.removePrivateKeyIds,
    });
    return { privateKeyTagId: intent.privateKeyTagId };
  },
});
