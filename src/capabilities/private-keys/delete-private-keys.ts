import { Type } from "typebox";
import { activity } from "../../engine/declare.ts";
import { SomeIds, Strict } from "../../engine/fields.ts";
import { fail } from "../../kernel/errors.ts";

export const deletePrivateKeys = activity({
  path: "delete_private_keys",
  summary: "Delete private keys for good. A key that was never exported takes `deleteWithoutExport`.",
  intent: Strict({ privateKeyIds: SomeIds, deleteWithoutExport: Type.Optional(Type.Boolean()) }),
  result: Type.Object({ privateKeyIds: Type.Array(Type.String()) }),
  subject: () => ({ governedBy: "policies", resource: "PRIVATE_KEY", action: "DELETE" }),
  async run({ intent: { privateKeyIds, deleteWithoutExport = false }, tx, organization }) {
    const keys = await tx
      .selectFrom("private_keys")
      .select(["id", "exported"])
      .where("organization_id", "=", organization.id)
      .where("id", "in", privateKeyIds)
      .execute();
    const known = new Map(keys.map(({ id, exported }) => [id, exported === 1]));
    for (const id of privateKeyIds) {
      const exported = known.get(id);
      if (exported === undefined) {
        fail("RESOURCE_NOT_FOUND", { kind: "private key", id, organizationId: organization.id });
      }
      if (!exported && !deleteWithoutExport) fail("NOT_EXPORTED", { kind: "private key", id });
    }
    await tx
      .deleteFrom("private_keys")
      .where("organization_id", "=", organization.id)
      .where("id", "in", privateKeyIds)
      .execute();
    return { privateKeyIds };
  },
});
