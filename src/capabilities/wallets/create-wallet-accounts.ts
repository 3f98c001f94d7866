import { Type } from "typebox";
import { activity } from "../../engine/declare.ts";
import { Id, noExternalSigner, Strict } from "../../engine/fields.ts";
import { AccountsParams, checkAccounts } from "./model.ts";
import { accountsToProve, addAccounts, deriveAccounts, requireSealedWallet, walletFacts } from "./store.ts";

export const createWalletAccounts = activity({
  path: "create_wallet_accounts",
  summary: "Derive accounts of a wallet, and store them unless `persist` is false.",
  asks: ["deriveAccounts"],
  intent: Strict({
    walletId: Id,
    accounts: AccountsParams,
    persist: Type.Optional(Type.Boolean()),
    ...noExternalSigner,
  }),
  result: Type.Object({ addresses: Type.Array(Type.String()) }),
  subject: () => ({ governedBy: "policies", resource: "WALLET", action: "CREATE" }),
  async policyFacts({ intent: { walletId }, read, organization }) {
    const [wallet] = await walletFacts(read, organization.id, [walletId]);
    return wallet ? { wallet } : {};
  },
  check: ({ accounts }) => checkAccounts(accounts, "parameters.accounts"),
  async prepare({ intent: { walletId, accounts }, read, organization, signer, id }) {
    const wallet = await requireSealedWallet(read, organization.id, walletId);
    return { wallet, accounts: await deriveAccounts({ signer, organization, id }, wallet, accounts) };
  },
  addresses: ({ prepared: { wallet, accounts } }) => accountsToProve(wallet, accounts),
  async run({ intent: { walletId, persist = true }, tx, organization, now, prepared: { accounts } }) {
    // The wallet may have been deleted since its keys were derived.
    await requireSealedWallet(tx, organization.id, walletId);
    if (persist) await addAccounts(tx, organization.id, walletId, accounts, now);
    return { addresses: accounts.map(({ address }) => address) };
  },
});
