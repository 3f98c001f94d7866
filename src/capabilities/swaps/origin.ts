import type { SponsoredOutcome } from "../sponsoring/store.ts";
import type { Swap } from "./store.ts";

/**
 * A swap by what its transaction has come to now, beside what is stored. A block that has the transaction may be taken back, and another
 * one have it with another end: its row is the newest word.
 */
export function asOfOrigin(swap: Swap, outcome: SponsoredOutcome): Swap {
  const failure = outcome.status === "PENDING" ? undefined : outcome.error;
  if (failure) {
    const { message } = failure;
    const error = { reason: "ORIGIN_TRANSACTION_FAILED" as const, message, originTxError: failure };
    return { ...swap, status: "FAILED", outputAmount: undefined, error };
  }
  return swap.error?.reason === "ORIGIN_TRANSACTION_FAILED" ? { ...swap, status: "PENDING", error: undefined } : swap;
}
