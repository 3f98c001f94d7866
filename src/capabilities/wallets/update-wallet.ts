import { Type } from "typebox";
import { activity } from "../../engine/declare.ts";
import { Id, LabelOrEmpty, Strict } from "../../engine/fields.ts";
import { requireWallet, walletFacts } from "./store.ts";

export const updateWallet = activity({
  path: "update_wallet",
  summary: "Rename a wallet; without a name, or with an empty one, it keeps its own.",
  intent: Strict({ walletId: Id, walletName: Type.Optional(LabelOrEmpty) }),
  result: Type.Object({ walletId: Type.String() }),
  subject: () => ({ governedBy: "policies", resource: "WALLET", action: "UPDATE" }),
  async policyFacts({ intent: { walletId }, read, organization }) {
    const [wallet] = await walletFacts(read, organization.id, [walletId]);
    return wallet ? { wallet } : {};
  },
  async run({ intent: { walletId, walletName }, tx, organization, now }) {
    await requireWallet(tx, organization.id, walletId);
    await tx
      .updateTable("wallets")
      .set({ ...(walletName ? { name: walletName } : {}), updated_at: now })
      .where("organization_id", "=", organization.id)
      .where("id", "=", walletId)
      .execute();
    return { walletId };
  },
});
