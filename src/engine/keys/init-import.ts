import { Type } from "typebox";
import { activity } from "../declare.ts";
import { Id, Strict } from "../fields.ts";
import { addImportKeys, makeImportKeys } from "./import-keys.ts";

/** Declares the activity that precedes an import of a private key or a wallet. Both use the same import keys. */
export const initImport = <const Path extends string>(declaration: {
  path: Path;
  summary: string;
  resource: "PRIVATE_KEY" | "WALLET";
}) => {
  const { resource } = declaration;
  return activity({
    ...declaration,
    asks: ["createImportKeys", "signStatements"],
    intent: Strict({ userId: Id }),
    result: Type.Object({ importBundle: Type.String() }),
    subject: ({ userId }) => ({ governedBy: "policies", resource, action: "IMPORT", onlyUserId: userId }),
    prepare: (context) => {
      const { userId } = context.intent;
      return makeImportKeys(context, { purpose: "key", userId, toldUserId: userId }, 1);
    },
    async run({ intent: { userId }, tx, organization, prepared: keys }) {
      await addImportKeys(tx, { organizationId: organization.id, userId, purpose: "key" }, keys);
      return { importBundle: keys[0]?.envelope as string };
    },
  });
};
