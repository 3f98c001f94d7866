import { addWallet } from "../../authority/rules/wallets.ts";
import { changesOn } from "../../authority/view.ts";
import { activity } from "../../engine/declare.ts";
import { checkWallet, WalletParams, WalletResult } from "./model.ts";
import { accountsToProve, addAccounts, generateWallet } from "./store.ts";

export const createWallet = activity({
  path: "create_wallet",
  summary: "Create a wallet with a new mnemonic, and accounts in it.",
  asks: ["createWallet"],
  intent: WalletParams,
  result: WalletResult,
  subject: () => ({ governedBy: "policies", resource: "WALLET", action: "CREATE" }),
  check: (params) => checkWallet(params, "parameters"),
  prepare: (context) => generateWallet(context, context.intent),
  addresses: ({ prepared: wallet }) => accountsToProve(wallet, wallet.accounts),
  change: ({ view, now, prepared: wallet }) => changesOn(view, (draft) => addWallet(draft, wallet, now)),
  answer: ({ prepared: wallet }) => ({ walletId: wallet.id, addresses: wallet.accounts.map(({ address }) => address) }),
  alsoStore: ({ tx, organization, now, prepared: { id, accounts } }) =>
    addAccounts(tx, organization.id, id, accounts, now),
});
