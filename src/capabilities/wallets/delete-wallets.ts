import { Type } from "typebox";
import { removeWallets } from "../../authority/rules/wallets.ts";
import { changesOn } from "../../authority/view.ts";
import { activity } from "../../engine/declare.ts";
import { SomeIds, Strict } from "../../engine/fields.ts";
import { MissingFactError } from "../../policy/errors.ts";
import { walletFacts } from "./store.ts";

export const deleteWallets = activity({
  path: "delete_wallets",
  summary:
    "Delete wallets with their accounts permanently. For a wallet that was never exported, set `deleteWithoutExport`.",
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
  change: ({ view, intent: { walletIds, deleteWithoutExport = false } }) =>
    changesOn(view, (draft) => removeWallets(draft, walletIds, deleteWithoutExport)),
  answer: ({ intent: { walletIds } }) => ({ walletIds }),
});
