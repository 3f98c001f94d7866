import { Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id } from "../../engine/fields.ts";
import { fail } from "../../kernel/errors.ts";
import { WalletAccount } from "./model.ts";
import { findAccountsAt, requireWallet } from "./store.ts";

export const getWalletAccount = query({
  path: "get_wallet_account",
  summary: "Get the account of a wallet at an address or a path.",
  request: Type.Object({
    organizationId: Id,
    walletId: Id,
    address: Type.Optional(Type.String({ maxLength: 1024 })),
    path: Type.Optional(Type.String({ maxLength: 255 })),
  }),
  response: Type.Object({ account: WalletAccount }),
  async run({ request: { walletId, address, path }, read, organization }) {
    if (!address && !path) fail("FIELD_MISSING", { field: "address" });
    await requireWallet(read, organization.id, walletId);
    const filter = { walletId, address: address || undefined, path: path || undefined };
    const [account] = await findAccountsAt(read, organization.id, filter);
    if (!account) {
      const id = [address, path].filter(Boolean).join(" at ");
      fail("RESOURCE_NOT_FOUND", { kind: "wallet account", id, organizationId: organization.id });
    }
    return { account };
  },
});
