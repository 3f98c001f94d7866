import { Type } from "typebox";
import { activity } from "../../engine/declare.ts";
import { SomeIds, Strict } from "../../engine/fields.ts";
import { fail } from "../../kernel/errors.ts";
import { requireWallet, walletFacts } from "./store.ts";

export const deleteWallets = activity({
  path: "delete_wallets",
  summary: "Delete wallets with their accounts for good. A wallet that was never exported takes `deleteWithoutExport`.",
  intent: Strict({ walletIds: SomeIds, deleteWithoutExport: Type.Optional(Type.Boolean()) }),
  result: Type.Object({ walletIds: Type.Array(Type.String()) }),
  subject: () => ({ governedBy: "policies", resource: "WALLET", action: "DELETE" }),
  async policyFacts({ intent: { walletIds }, read, organization }) {
    const wallets = await walletFacts(read, organization.id, walletIds);
    const [wallet] = wallets;
    return { wallets, ...(wallet && walletIds.length === 1 ? { wallet } : {}) };
  },
  async run({ intent: { walletIds, deleteWithoutExport = false }, tx, organization }) {
    for (const id of walletIds) {
      const { exported } = await requireWallet(tx, organization.id, id);
      if (!exported && !deleteWithoutExport) fail("NOT_EXPORTED", { kind: "wallet", id });
    }
    await tx
      .deleteFrom("wallets")
      .where("organization_id", "=", organization.id)
      .where("id", "in", walletIds)
      .execute();
    return { walletIds };
  },
});
