import { Type } from "typebox";
import { addSecrets, type NewSecret } from "../../authority/rules/secrets.ts";
import { changesOn } from "../../authority/view.ts";
import { activity, type PrepareContext } from "../../engine/declare.ts";
import { findImportKeys, refuseImport, takenImport, useUpImportKey } from "../../engine/keys/import-keys.ts";
import { keyOwnerOf } from "../../engine/keys/key-owner.ts";
import { factsOfSecrets, fieldAt, ImportSecretsIntent, parseImport } from "./model.ts";

/** A secret that the signer decrypted and sealed, with the import key that it used up. */
type Imported = NewSecret & { importId: string };

export const importSecrets = activity({
  path: "import_secrets",
  summary: "Store secrets that were encrypted to keys from `init_import_secrets`: all of them, or none.",
  asks: ["importSecret"],
  intent: ImportSecretsIntent,
  result: Type.Object({ secretIds: Type.Array(Type.String()) }),
  subject: () => ({ governedBy: "policies", resource: "SECRET", action: "IMPORT" }),
  policyFacts: async ({ intent }) => factsOfSecrets(parseImport(intent)),
  check: (intent) => void parseImport(intent),
  prepare,
  change: ({ view, now, prepared: secrets }) =>
    changesOn(view, (draft) => addSecrets(draft, secrets, now, (index) => fieldAt(index, "name"))),
  answer: ({ prepared: secrets }) => ({ secretIds: secrets.map(({ id }) => id) }),
  async alsoStore({ tx, organization, prepared: secrets }) {
    for (const [index, { importId }] of secrets.entries()) {
      await useUpImportKey(tx, organization.id, importId, fieldAt(index, "targetPublicKey"));
    }
  },
});

async function prepare(context: PrepareContext<ImportSecretsIntent, "importSecret">): Promise<Imported[]> {
  const { intent, read, organization, signer, submitterId, id: idFor, now } = context;
  const owner = { organizationId: organization.id, userId: submitterId, purpose: "secret" } as const;
  const importKeys = await findImportKeys(read, owner, now);
  const imported: Imported[] = [];
  // One at a time, so that the signer can serve other requests in between.
  for (const [index, params] of parseImport(intent).entries()) {
    const { name, bundle, targetPublicKey, staticProperties } = params;
    const importKey =
      importKeys.find((key) => key.targetPublicKey === targetPublicKey) ??
      refuseImport("undecryptable", fieldAt(index, "targetPublicKey"), "a secret");
    const id = idFor(`secrets.${index}`);
    const answer = await signer.ask({
      verb: "importSecret",
      ...keyOwnerOf(organization),
      importKeys: [importKey.asked],
      bundle,
      secretId: id,
    });
    const { importId, sealedSecret } = takenImport(answer, fieldAt(index, "secretPayload"), "a secret");
    imported.push({
      id,
      name: name ?? null,
      staticProperties,
      importId,
      sealedSecret: Buffer.from(sealedSecret, "base64"),
    });
  }
  return imported;
}
