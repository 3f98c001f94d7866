import { Type } from "typebox";
import { activity } from "../../engine/declare.ts";
import { Strict } from "../../engine/fields.ts";
import { addImportKeys, makeImportKeys } from "../../engine/keys/import-keys.ts";
import { durationText } from "../../kernel/durations.ts";
import { IMPORT_KEY_LIFETIME_MS, MAX_SECRETS_PER_REQUEST } from "../../kernel/limits.ts";
import { EncryptionSuite } from "./model.ts";

export const initImportSecrets = activity({
  path: "init_import_secrets",
  summary: `Get keys to which secrets can be encrypted, each for one import by the same user within ${durationText(IMPORT_KEY_LIFETIME_MS)}.`,
  asks: ["createImportKeys", "signStatements"],
  intent: Strict({
    encryptionSuite: EncryptionSuite,
    numSecrets: Type.Integer({ minimum: 1, maximum: MAX_SECRETS_PER_REQUEST }),
  }),
  result: Type.Object({ enclaveTargetMessages: Type.Array(Type.String()) }),
  subject: () => ({ governedBy: "policies", resource: "SECRET", action: "IMPORT" }),
  prepare: (context) => {
    const owner = { purpose: "secret", userId: context.submitterId, toldUserId: "" } as const;
    return makeImportKeys(context, owner, context.intent.numSecrets);
  },
  async run({ tx, organization, submitterId, prepared: keys }) {
    const owner = { organizationId: organization.id, userId: submitterId, purpose: "secret" } as const;
    await addImportKeys(tx, owner, keys);
    return { enclaveTargetMessages: keys.map(({ envelope }) => envelope) };
  },
});
