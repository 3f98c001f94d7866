import { Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id } from "../../engine/fields.ts";
import { Wallet } from "./model.ts";
import { findWallets } from "./store.ts";

export const listWallets = query({
  path: "list_wallets",
  summary: "List all wallets of the organization.",
  request: Type.Object({ organizationId: Id }),
  response: Type.Object({ wallets: Type.Array(Wallet) }),
  async run({ read, organization }) {
    return { wallets: await findWallets(read, organization.id) };
  },
});
