import { Type } from "typebox";
import { activity } from "../../engine/declare.ts";
import { Ids, Label, Strict } from "../../engine/fields.ts";
import { addTag, privateKeyTags } from "./store.ts";

export const createPrivateKeyTag = activity({
  path: "create_private_key_tag",
  summary: "Create a private key tag and attach it to private keys.",
  intent: Strict({ privateKeyTagName: Label, privateKeyIds: Ids }),
  result: Type.Object({ privateKeyTagId: Type.String(), privateKeyIds: Type.Array(Type.String()) }),
  subject: () => ({ governedBy: "policies", resource: "PRIVATE_KEY", action: "CREATE" }),
  async run({ intent: { privateKeyTagName, privateKeyIds }, tx, organization, now }) {
    const scope = { tx, organizationId: organization.id, kind: privateKeyTags, now };
    return { privateKeyTagId: await addTag(scope, privateKeyTagName, privateKeyIds), privateKeyIds };
  },
});
