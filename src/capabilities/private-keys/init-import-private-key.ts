import { Type } from "typebox";
import { activity } from "../../engine/declare.ts";
import { Id, Strict } from "../../engine/fields.ts";
import { addImportKeys, makeImportKeys } from "../../engine/import-keys.ts";

export const initImportPrivateKey = activity({
  path: "init_import_private_key",
  summary: "Get a key to encrypt a private key to, for one import of one's own within 24 hours.",
  intent: Strict({ userId: Id }),
  result: Type.Object({ importBundle: Type.String() }),
  subject: ({ userId }) => ({
    governedBy: "policies",
    resource: "PRIVATE_KEY",
    action: "IMPORT",
    onlyUserId: userId,
  }),
  prepare: (context) => makeImportKeys(context, context.intent.userId, 1),
  async run({ intent: { userId }, tx, organization, now, prepared: keys }) {
    await addImportKeys(tx, { organizationId: organization.id, userId, purpose: "key" }, keys, now);
    return { importBundle: keys[0]?.envelope as string };
  },
});
