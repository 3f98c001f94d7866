import { Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id, Pagination } from "../../engine/fields.ts";
import { pageOf } from "../../engine/paging.ts";
import { fail } from "../../kernel/errors.ts";
import { WalletAccount } from "./model.ts";
import { findAccounts, findAccountsBeginning, findWallets, requireWallet } from "./store.ts";

const Address = Type.String({ minLength: 1, maxLength: 1024 });
const Beginning = Type.String({
  minLength: 1,
  maxLength: 1024,
  pattern: "^[\\x21-\\x7e]+$",
  description: "the beginning of an address: letters, digits and signs of ASCII without spaces",
});
const Path = Type.String({ minLength: 1, maxLength: 255 });

export const listWalletAccounts = query({
  path: "list_wallet_accounts",
  summary:
    "Accounts of one wallet or of all, page by page in the order in which they were made. `filterByAddress` finds those at exactly this address, under any spelling of it, and `filterByPath` those at this derivation path of the wallet. `filterByAddressPrefix` finds the first accounts of all wallets, in the order of addresses, whose address begins so. The three are extensions of this server.",
  request: Type.Object({
    organizationId: Id,
    walletId: Type.Optional(Id),
    includeWalletDetails: Type.Optional(Type.Boolean()),
    filterByAddress: Type.Optional(Address),
    filterByAddressPrefix: Type.Optional(Beginning),
    filterByPath: Type.Optional(Path),
    paginationOptions: Type.Optional(Pagination),
  }),
  response: Type.Object({ accounts: Type.Array(WalletAccount) }),
  async run({ request, read, organization }) {
    const { walletId, includeWalletDetails, filterByAddress: address, filterByPath: path } = request;
    // Most wallets have the same paths: those of all would be a list of the wallets.
    if (path !== undefined && walletId === undefined) fail("FIELD_MISSING", { field: "walletId" });
    if (walletId !== undefined) await requireWallet(read, organization.id, walletId);
    const { filterByAddressPrefix: beginning } = request;
    const page = pageOf(request.paginationOptions);
    if (beginning !== undefined) refuseWithBeginning({ ...request, ...page });
    const accounts =
      beginning === undefined
        ? await findAccounts(read, organization.id, { walletId, address, path }, page)
        : await findAccountsBeginning(read, organization.id, beginning, page.limit);
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

/**
 * What would have accounts looked through that are not in the answer, or has another order.
 *
 * @throws KeysteadError FIELD_INVALID
 */
function refuseWithBeginning(request: Partial<Record<string, unknown>>): void {
  for (const field of ["walletId", "filterByAddress", "filterByPath", "before", "after"]) {
    if (request[field] === undefined) continue;
    const of = field === "before" || field === "after" ? `paginationOptions.${field}` : field;
    fail("FIELD_INVALID", {
      field: of,
      reason:
        "is not taken with `filterByAddressPrefix`, which finds the first accounts of all wallets; leave one of both out",
    });
  }
}
