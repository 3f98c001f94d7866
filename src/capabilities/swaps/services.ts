import type { EvmChain } from "../../chains/evm/networks.ts";
import { solanaChains } from "../../chains/solana/networks.ts";
import type { Swaps } from "../../providers/swaps/swaps.ts";

/** The services that swaps need in addition to the engine's. */

declare module "../../engine/services.ts" {
  interface Services {
    /** The swap provider; undefined if none is configured. Calls may be slow, so never make them in a transaction. */
    swaps: (Swaps & { terms: SwapTerms }) | undefined;
  }
}

/** The chains that can have swaps: Ethereum chains and Solana's mainnet. */
export type SwapChain = EvmChain | typeof swapCluster;
export const swapCluster = solanaChains[0];

/** The operator's settings for swaps. */
export interface SwapTerms {
  /** How long a quote is valid. */
  quoteLifetimeMs: number;
  /** The initial interval at which a swap with its output on another chain is polled. */
  pollMs: number;
  /** The service's fee on the input; none is taken without a recipient. */
  serviceFee: { bps: number; stableBps: number; recipient: string | undefined };
  /** The chains between which swaps are quoted. */
  chains: readonly SwapChain[];
  /** The contracts that wallets may call, in lowercase; on Solana the programs. */
  contracts: Readonly<Partial<Record<SwapChain, readonly string[]>>>;
}
