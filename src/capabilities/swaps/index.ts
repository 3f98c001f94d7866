import { capability } from "../../engine/capability.ts";
import { claimSwapFees } from "./claim-swap-fees.ts";
import { createSwapQuote } from "./create-swap-quote.ts";
import { executeSwap } from "./execute-swap.ts";
import { followSwap } from "./follow-swap.ts";
import { getSwapStatus } from "./get-swap-status.ts";
import { pruneSwapQuotes } from "./prune-quotes.ts";
import { upsertSwapConfig } from "./upsert-swap-config.ts";

/** Swaps assets of wallets through an external provider, which does not decide what is signed. */
export const swaps = capability({
  title: "Swaps",
  operations: [upsertSwapConfig, createSwapQuote, executeSwap, getSwapStatus, claimSwapFees],
  jobs: [followSwap, pruneSwapQuotes],
  erases: ["swap_configs", "swap_quotes", "swaps"],
  large: ["swaps"],
});
