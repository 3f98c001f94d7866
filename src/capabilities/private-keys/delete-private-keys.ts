import { Type } from "typebox";
import { removePrivateKeys } from "../../authority/rules/private-keys.ts";
import { changesOn } from "../../authority/view.ts";
import { activity } from "../../engine/declare.ts";
import { SomeIds, Strict } from "../../engine/fields.ts";
import { MissingFactError } from "../../policy/errors.ts";
import { signingKeyFacts } from "../signing/store.ts";

export const deletePrivateKeys = activity({
  path: "delete_private_keys",
  summary: "Delete private keys permanently. For a key that was never exported, set `deleteWithoutExport`.",
  intent: Strict({ privateKeyIds: SomeIds, deleteWithoutExport: Type.Optional(Type.Boolean()) }),
  result: Type.Object({ privateKeyIds: Type.Array(Type.String()) }),
  subject: () => ({ governedBy: "policies", resource: "PRIVATE_KEY", action: "DELETE" }),
  async policyFacts({ intent: { privateKeyIds }, read, organization }) {
    const [id = "", second] = privateKeyIds;
    if (second === undefined) return signingKeyFacts(read, organization.id, id);
    // No two keys have the same facts, so there is no need to read up to a thousand of them.
    return {
      get private_key(): never {
        throw new MissingFactError("the request is about several private keys; delete them one by one");
      },
    };
  },
  change: ({ view, intent: { privateKeyIds, deleteWithoutExport = false } }) =>
    changesOn(view, (draft) => removePrivateKeys(draft, privateKeyIds, deleteWithoutExport)),
  answer: ({ intent: { privateKeyIds } }) => ({ privateKeyIds }),
});
