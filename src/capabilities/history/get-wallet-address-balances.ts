import { Type } from "typebox";
import { isSolanaChain } from "../../chains/solana/networks.ts";
import { query } from "../../engine/declare.ts";
import { Id, OneOf } from "../../engine/fields.ts";
import { balancesOf } from "../../nodes/evm-state.ts";
import { solanaBalancesOf } from "../../nodes/solana-state.ts";
import { listInTurn } from "../sending/store.ts";
import {
  AccountAddress,
  chainOf,
  chainSpellings,
  Display,
  displayOf,
  requireAddressOn,
  requireWalletAddress,
} from "./model.ts";

const BalanceItem = Type.Object(
  {
    caip19: Type.String(),
    symbol: Type.String(),
    name: Type.String(),
    balance: Type.String(),
    decimals: Type.Integer(),
    display: Display,
  },
  { $id: "AssetBalance" },
);

export const getWalletAddressBalances = query({
  path: "get_wallet_address_balances",
  summary:
    "Get the current balances of a wallet account on a chain, of the assets that this server knows. Assets without a balance are left out.",
  needs: ["evm", "solana", "assets"],
  request: Type.Object({
    organizationId: Id,
    address: AccountAddress,
    caip2: OneOf(chainSpellings),
  }),
  response: Type.Object({ balances: Type.Array(BalanceItem) }),
  async run({ request: { address, caip2: spelling }, read, organization, evm, solana, assets }) {
    const chain = chainOf(spelling);
    requireAddressOn(chain, address);
    await requireWalletAddress(read, { organizationId: organization.id, caip2: chain, address });
    const known = assets.assetsOf(chain);
    const tokens = known.map(({ token }) => token);
    const amounts = await listInTurn(organization, async () => {
      if (isSolanaChain(chain)) {
        await solana.requireChain(chain);
        return solanaBalancesOf(solana, chain, address, tokens);
      }
      await evm.requireChain(chain);
      return balancesOf(evm, chain, address, tokens);
    });
    return {
      balances: known.flatMap((asset, index) => {
        const amount = amounts[index] ?? 0n;
        if (amount === 0n) return [];
        const { caip19, symbol, name, decimals } = asset;
        return { caip19, symbol, name, balance: String(amount), decimals, display: displayOf(assets, asset, amount) };
      }),
    };
  },
});
