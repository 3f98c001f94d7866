import { Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id, Pagination } from "../../engine/fields.ts";
import { pageOf } from "../../engine/paging.ts";
import { WalletAccount } from "./model.ts";
import { findAccounts, findWallets, requireWallet } from "./store.ts";

export const listWalletAccounts = query({
  path: "list_wallet_accounts",
  summary: "Accounts of one wallet or of all, page by page in the order in which they were made.",
  request: Type.Object({
    organizationId: Id,
    walletId: Type.Optional(Id),
    includeWalletDetails: Type.Optional(Type.Boolean()),
    paginationOptions: Type.Optional(Pagination),
  }),
  response: Type.Object({ accounts: Type.Array(WalletAccount) }),
  async run({ request: { walletId, includeWalletDetails, paginationOptions }, read, organization }) {
    if (walletId !== undefined) await requireWallet(read, organization.id, walletId);
    const accounts = await findAccounts(read, organization.id, walletId, pageOf(paginationOptions));
    if (!includeWalletDetails) return { accounts };
    const ids = [...new Set(accounts.map((account) => account.walletId))];
    const wallets = ids.length > 0 ? await findWallets(read, organization.id, ids) : [];
    const byId = new Map(wallets.map((wallet) => [wallet.walletId, wallet]));
    return {
      accounts: accounts.map((account) => {
        const walletDetails = byId.get(account.walletId);
        return walletDetails ? { ...account, walletDetails } : account;
      }),
    };
  },
});
