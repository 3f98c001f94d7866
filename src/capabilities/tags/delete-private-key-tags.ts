import { Type } from "typebox";
import { activity } from "../../engine/declare.ts";
import { SomeIds, Strict } from "../../engine/fields.ts";
import { privateKeyTags, removeTags } from "./store.ts";

export const deletePrivateKeyTags = activity({
  path: "delete_private_key_tags",
  summary: "Delete private key tags. The private keys that carried them are named in the result and stay.",
  intent: Strict({ privateKeyTagIds: SomeIds }),
  result: Type.Object({ privateKeyTagIds: Type.Array(Type.String()), privateKeyIds: Type.Array(Type.String()) }),
  subject: () => ({ governedBy: "policies", resource: "PRIVATE_KEY", action: "DELETE" }),
  async run({ intent: { privateKeyTagIds }, tx, organization, now }) {
    const scope = { tx, organizationId: organization.id, kind: privateKeyTags, now };
    return { privateKeyTagIds, privateKeyIds: await removeTags(scope, privateKeyTagIds) };
  },
});
