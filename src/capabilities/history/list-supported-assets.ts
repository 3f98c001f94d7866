import { Type } from "typebox";
import { isSolanaChain } from "../../chains/solana/networks.ts";
import { query } from "../../engine/declare.ts";
import { Id, OneOf } from "../../engine/fields.ts";
import { chainOf, chainSpellings } from "./model.ts";

const AssetItem = Type.Object(
  {
    caip19: Type.String(),
    symbol: Type.String(),
    name: Type.String(),
    decimals: Type.Integer(),
    stable: Type.Boolean(),
  },
  { $id: "AssetMetadata" },
);

export const listSupportedAssets = query({
  path: "list_supported_assets",
  summary: "List the assets on a chain whose balances are read and whose transfers cause events.",
  needs: ["evm", "solana", "assets"],
  request: Type.Object({ organizationId: Id, caip2: OneOf(chainSpellings) }),
  response: Type.Object({ assets: Type.Array(AssetItem) }),
  async run({ request, evm, solana, assets }) {
    const chain = chainOf(request.caip2);
    await (isSolanaChain(chain) ? solana.requireChain(chain) : evm.requireChain(chain));
    const known = assets.assetsOf(chain);
    return {
      assets: known.map(({ caip19, symbol, name, decimals, isStable: stable }) => ({
        caip19,
        symbol,
        name,
        decimals,
        stable,
      })),
    };
  },
});
