import { Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id } from "../../engine/fields.ts";
import { Wallet } from "./model.ts";
import { requireWallet } from "./store.ts";

export const getWallet = query({
  path: "get_wallet",
  summary: "One wallet.",
  request: Type.Object({ organizationId: Id, walletId: Id }),
  response: Type.Object({ wallet: Wallet }),
  async run({ request: { walletId }, read, organization }) {
    return { wallet: await requireWallet(read, organization.id, walletId) };
  },
});
