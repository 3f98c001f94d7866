import { Type } from "typebox";
import { activity } from "../../engine/declare.ts";
import { Strict } from "../../engine/fields.ts";
import { addImportKeys, makeImportKeys } from "../../engine/keys/import-keys.ts";
import { MAX_SECRETS_PER_REQUEST } from "../../kernel/limits.ts";
import { EncryptionSuite } from "./model.ts";

export const initImportSecrets = activity({
  path: "init_import_secrets",
  summary: "Get keys to encrypt secrets to, each for one secret of one's own within 24 hours.",
  asks: ["createImportKeys", "sign"],
  intent: Strict({
    encryptionSuite: EncryptionSuite,
    numSecrets: Type.Integer({ minimum: 1, maximum: MAX_SECRETS_PER_REQUEST }),
  }),
  result: Type.Object({ enclaveTargetMessages: Type.Array(Type.String()) }),
  subject: () => ({ governedBy: "policies", resource: "SECRET", action: "IMPORT" }),
  prepare: (context) => makeImportKeys(context, context.submitterId, context.intent.numSecrets),
  async run({ tx, organization, submitterId, now, prepared: keys }) {
    const owner = { organizationId: organization.id, userId: submitterId, purpose: "secret" } as const;
    await addImportKeys(tx, owner, keys, now);
    return { enclaveTargetMessages: keys.map(({ envelope }) => envelope) };
  },
});
