import { type Static, Type } from "typebox";
import { type AssetBook, tokenId } from "../../chains/evm/assets.ts";
import type { EvmChain } from "../../chains/evm/networks.ts";
import { OneOf } from "../../engine/fields.ts";
import { Display, displayOf } from "../history/model.ts";
import { earnChains, earnProviders } from "./services.ts";

/** The vocabulary of the operations on wrappers and vaults. */

export const EarnAddress = Type.String({
  pattern: "^0x[0-9a-fA-F]{40}$",
  description: "an address: 0x and 40 hex digits",
});

export const ChainCaip2 = OneOf(earnChains);
export const Provider = OneOf(earnProviders);

/** A share of each gain, in basis points. */
export const MAX_CLIENT_FEE_BPS = 4000;
/** The same, including the service's share. The contracts enforce both limits. */
export const MAX_FEE_BPS = 5000;

export const AssetId = Type.String({
  pattern: "^eip155:[0-9]{1,20}/erc20:0x[0-9a-fA-F]{40}$",
  description:
    "the CAIP-19 identifier of a token, such as eip155:8453/erc20:0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913",
});

/** An amount for display, with its value if the asset has a price. */
export { Display };

/** The asset that a vault or wrapper holds. */
export interface EarnAsset {
  chain: EvmChain;
  /** Lowercase. */
  address: string;
  decimals: number;
}

export const caip19Of = ({ chain, address }: Pick<EarnAsset, "chain" | "address">): string => tokenId(chain, address);

export const shownAmount = (assets: AssetBook, asset: EarnAsset, amount: bigint): Static<typeof Display> =>
  displayOf(assets, { caip19: caip19Of(asset), decimals: asset.decimals }, amount);

/** The common fields of polls of requests. Each poll adds the transaction hash under a name of its own. */
export const statusFields = {
  status: OneOf(["PENDING", "COMPLETED", "FAILED"]),
  error: Type.Optional(Type.String()),
};
