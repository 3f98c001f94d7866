import { type Static, Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id, Label, Pagination } from "../../engine/fields.ts";
import { type Page, pageOf } from "../../engine/paging.ts";
import { fail } from "../../kernel/errors.ts";
import type { Reader } from "../../storage/engine.ts";
import { WalletAccount } from "./model.ts";
import {
  findAccounts,
  findAccountsBeginning,
  findAccountsNamed,
  findWallets,
  requireAccount,
  requireWallet,
} from "./store.ts";

const Address = Type.String({ minLength: 1, maxLength: 1024 });
const Beginning = Type.String({
  minLength: 1,
  maxLength: 1024,
  pattern: "^[\\x21-\\x7e]+$",
  description: "the beginning of an address: printable ASCII characters without spaces",
});
const Path = Type.String({ minLength: 1, maxLength: 255 });

const ListWalletAccounts = Type.Object({
  organizationId: Id,
  walletId: Type.Optional(Id),
  includeWalletDetails: Type.Optional(Type.Boolean()),
  filterByAddress: Type.Optional(Address),
  filterByAddressPrefix: Type.Optional(Beginning),
  filterByNamePrefix: Type.Optional(Label),
  filterByPath: Type.Optional(Path),
  filterByWalletAccountId: Type.Optional(Id),
  paginationOptions: Type.Optional(Pagination),
});

export const listWalletAccounts = query({
  path: "list_wallet_accounts",
  summary:
    "List the accounts of one wallet or of all wallets, in pages, in the order in which they were created. `filterByAddress` finds accounts with exactly this address, in any spelling, and `filterByPath` those at this derivation path of the wallet. `filterByAddressPrefix` finds the first accounts of all wallets, ordered by address, whose address begins with it, and `filterByNamePrefix` those whose name does, ordered by name, ignoring the case of A to Z. `filterByWalletAccountId` finds the account with this ID. These five filters are extensions of this server.",
  request: ListWalletAccounts,
  response: Type.Object({ accounts: Type.Array(WalletAccount) }),
  async run({ request, read, organization }) {
    const { walletId, includeWalletDetails, filterByPath: path } = request;
    // Most wallets use the same paths, so a path without a wallet would match nearly every wallet.
    if (path !== undefined && walletId === undefined) fail("FIELD_MISSING", { field: "walletId" });
    if (walletId !== undefined) await requireWallet(read, organization.id, walletId);
    const accounts = await accountsFor(request, read, organization.id);
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

type Request = Static<typeof ListWalletAccounts>;

async function accountsFor(request: Request, read: Reader, organizationId: string): Promise<WalletAccount[]> {
  const { filterByAddressPrefix: address, filterByNamePrefix: name } = request;
  const page = pageOf(request.paginationOptions);
  if (address !== undefined) {
    refuseBeside("filterByAddressPrefix", request, page);
    return findAccountsBeginning(read, organizationId, address, page.limit);
  }
  if (name !== undefined) {
    refuseBeside("filterByNamePrefix", request, page);
    return findAccountsNamed(read, organizationId, name, page.limit);
  }
  const { walletId, filterByWalletAccountId: accountId, filterByAddress, filterByPath: path } = request;
  if (accountId !== undefined) await requireAccount(read, organizationId, accountId);
  return findAccounts(read, organizationId, { walletId, accountId, address: filterByAddress, path }, page);
}

const REFUSED_BESIDE = [
  "walletId",
  "filterByAddress",
  "filterByNamePrefix",
  "filterByPath",
  "filterByWalletAccountId",
] as const;

/**
 * Refuses other filters and cursors, with which the server would have to read accounts that are not in the answer, or return another order.
 *
 * @throws KeysteadError FIELD_INVALID
 */
function refuseBeside(filter: "filterByAddressPrefix" | "filterByNamePrefix", request: Request, page: Page): void {
  const given = [
    ...REFUSED_BESIDE.filter((field) => field !== filter && request[field] !== undefined),
    ...(["before", "after"] as const)
      .filter((cursor) => page[cursor] !== undefined)
      .map((cursor) => `paginationOptions.${cursor}`),
  ];
  for (const field of given) {
    fail("FIELD_INVALID", {
      field,
      reason: `cannot be combined with \`${filter}\`, which finds the first accounts of all wallets; leave out one of the two`,
    });
  }
}
