import { Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id, Pagination } from "../../engine/fields.ts";
import { pageOf } from "../../engine/paging.ts";
import { fail } from "../../kernel/errors.ts";
import { WalletAccount } from "./model.ts";
import { findAccounts, findWallets, requireWallet } from "./store.ts";

const Address = Type.String({ minLength: 1, maxLength: 1024 });
const Path = Type.String({ minLength: 1, maxLength: 255 });

export const listWalletAccounts = query({
  path: "list_wallet_accounts",
  summary:
    "Accounts of one wallet or of all, page by page in the order in which they were made. `filterByAddress` finds those at exactly this address, under any spelling of it, and `filterByPath` those at this derivation path of the wallet; both are extensions of this server.",
  request: Type.Object({
    organizationId: Id,
    walletId: Type.Optional(Id),
    includeWalletDetails: Type.Optional(Type.Boolean()),
    filterByAddress: Type.Optional(Address),
    filterByPath: Type.Optional(Path),
    paginationOptions: Type.Optional(Pagination),
  }),
  response: Type.Object({ accounts: Type.Array(WalletAccount) }),
  async run({ request, read, organization }) {
    const { walletId, includeWalletDetails, filterByAddress: address, filterByPath: path, paginationOptions } = request;
    // Most wallets have the same paths: those of all would be a list of the wallets.
    if (path !== undefined && walletId === undefined) fail("FIELD_MISSING", { field: "walletId" });
    if (walletId !== undefined) await requireWallet(read, organization.id, walletId);
    const accounts = await findAccounts(read, organization.id, { walletId, address, path }, pageOf(paginationOptions));
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
