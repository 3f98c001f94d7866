import type { EvmChain } from "../../chains/evm/networks.ts";
import { solanaChains } from "../../chains/solana/networks.ts";
import type { Swaps } from "../../providers/swaps/swaps.ts";

/** What swaps need of the house beside what the engine has for all. */

declare module "../../engine/services.ts" {
  interface Services {
    /** Quotes swaps, and tells what became of them; undefined where nobody is to be asked. It takes its time: never in a transaction. */
    swaps: (Swaps & { terms: SwapTerms }) | undefined;
  }
}

/** The chains that swaps can be on: those of Ethereum, and the main cluster of Solana. */
export type SwapChain = EvmChain | typeof swapCluster;
export const swapCluster = solanaChains[0];

/** What the operator settles of swaps. */
export interface SwapTerms {
  /** How long a quote is good. */
  quoteLifetimeMs: number;
  /** The first pause between two looks at a swap whose output is on another chain. */
  pollMs: number;
  /** What the service takes of the input; of nothing where nobody receives it. */
  serviceFee: { bps: number; stableBps: number; recipient: string | undefined };
  /** Between which swaps are quoted. */
  chains: readonly SwapChain[];
  /** The contracts that wallets may be made to call, in lowercase; on Solana the programs. */
  contracts: Readonly<Partial<Record<SwapChain, readonly string[]>>>;
}
