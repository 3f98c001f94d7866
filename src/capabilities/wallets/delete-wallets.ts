import { Type } from "typebox";
import { activity } from "../../engine/declare.ts";
import { SomeIds, Strict } from "../../engine/fields.ts";
import { fail } from "../../kernel/errors.ts";
import { MissingFactError } from "../../policy/errors.ts";
import { requireWallet, walletFacts } from "./store.ts";

export const deleteWallets = activity({
  path: "delete_wallets",
  summary: "Delete wallets with their accounts for good. A wallet that was never exported takes `deleteWithoutExport`.",
  intent: Strict({ walletIds: SomeIds, deleteWithoutExport: Type.Optional(Type.Boolean()) }),
  result: Type.Object({ walletIds: Type.Array(Type.String()) }),
  subject: () => ({ governedBy: "policies", resource: "WALLET", action: "DELETE" }),
  async policyFacts({ intent: { walletIds }, read, organization }) {
    const wallets = await walletFacts(read, organization.id, walletIds);
    if (walletIds.length === 1) return { wallets, ...(wallets[0] ? { wallet: wallets[0] } : {}) };
    return {
      wallets,
      get wallet(): never {
        throw new MissingFactError(
          "the request is about several wallets; delete them one by one, or ask for `wallets`",
        );
      },
    };
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
