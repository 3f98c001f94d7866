import { Type } from "typebox";
import { renameWallet } from "../../authority/rules/wallets.ts";
import { changesOn } from "../../authority/view.ts";
import { activity } from "../../engine/declare.ts";
import { Id, LabelOrEmpty, Strict } from "../../engine/fields.ts";
import { walletFacts } from "./store.ts";

export const updateWallet = activity({
  path: "update_wallet",
  summary: "Rename a wallet. If the name is missing or empty, it keeps its name.",
  intent: Strict({ walletId: Id, walletName: Type.Optional(LabelOrEmpty) }),
  result: Type.Object({ walletId: Type.String() }),
  subject: () => ({ governedBy: "policies", resource: "WALLET", action: "UPDATE" }),
  async policyFacts({ intent: { walletId }, read, organization }) {
    const [wallet] = await walletFacts(read, organization.id, [walletId]);
    return wallet ? { wallet } : {};
  },
  change: ({ view, intent: { walletId, walletName }, now }) =>
    changesOn(view, (draft) => renameWallet(draft, walletId, walletName || undefined, now)),
  answer: ({ intent: { walletId } }) => ({ walletId }),
});
