import type { SponsoredOutcome } from "../sponsoring/store.ts";
import type { Swap } from "./store.ts";

/**
 * The stored swap, updated by the current outcome of its transaction. After a reorganization, another block may include the transaction with
 * another outcome; the transaction's own row is the most recent source.
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
