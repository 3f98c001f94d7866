/** The requests to Coinbase's on-ramp that use an organization's key. */

/** `token` requests a token that opens the page of one purchase; `transactions` requests the status of a purchase. */
export type CoinbaseRequest = { of: "token" } | { of: "transactions"; transactionId: string };

export function coinbaseRequestLine(request: CoinbaseRequest): { method: "GET" | "POST"; path: string } {
  if (request.of === "token") return { method: "POST", path: "/onramp/v1/token" };
  return { method: "GET", path: `/onramp/v1/buy/user/${encodeURIComponent(request.transactionId)}/transactions` };
}
