import { activity } from "../../engine/declare.ts";
import { checkWallet, WalletParams, WalletResult } from "./model.ts";
import { accountsToProve, addWallet, generateWallet } from "./store.ts";

export const createWallet = activity({
  path: "create_wallet",
  summary: "Create a wallet with fresh words, and accounts of it.",
  asks: ["createWallet"],
  intent: WalletParams,
  result: WalletResult,
  subject: () => ({ governedBy: "policies", resource: "WALLET", action: "CREATE" }),
  check: (params) => checkWallet(params, "parameters"),
  prepare: ({ intent, organization, signer }) => generateWallet(signer, organization, intent),
  addresses: ({ prepared: wallet }) => accountsToProve(wallet, wallet.accounts),
  async run({ tx, organization, now, prepared: wallet }) {
    await addWallet(tx, organization.id, wallet, now);
    return { walletId: wallet.id, addresses: wallet.accounts.map(({ address }) => address) };
  },
});
