import { type SolanaChain, solanaChains } from "./networks.ts";

/** The built-in assets on Solana clusters. */

export const SOL = { coinType: 501, symbol: "SOL", name: "Solana", decimals: 9 };

const [mainnet, devnet] = solanaChains;
const usdc = (address: string) => ({ address, symbol: "USDC", name: "USD Coin", decimals: 6 });

/** The best-known stablecoins, with the mints that their issuers publish. */
export const solanaStablecoins = {
  [mainnet]: [
    usdc("EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"),
    {
      address: "Es9vMFrzaCERmJfrF4H2FYD4KCoNkY11McCe8BenwNYB",
      symbol: "USDT",
      name: "Tether USD",
      decimals: 6,
    },
  ],
  [devnet]: [usdc("4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU")],
};

/** CAIP-19 of any token, known or not. */
export const splTokenId = (chain: SolanaChain, mint: string): string => `${chain}/token:${mint}`;
