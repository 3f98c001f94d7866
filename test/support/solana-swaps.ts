import type { Instruction } from "@solana/kit";
import { relayOfTests, type SolanaInstructions } from "./relay.ts";

/** Where swaps on Solana are, and what the provider of tests offers for them. */

export const SWAP_GENESIS = "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d";
export const SWAP_CLUSTER = `solana:${SWAP_GENESIS.slice(0, 32)}`;

export type SwapAmounts = { input: bigint; output: bigint };

/** Has a wallet offered this from now on. */
export async function offerOnSolana(
  wallet: string,
  build: (amounts: SwapAmounts) => Instruction[] | SolanaInstructions,
): Promise<void> {
  (await relayOfTests()).offer(wallet, (_, amounts) => {
    const built = build(amounts);
    return "instructions" in built ? built : { instructions: built };
  });
}
