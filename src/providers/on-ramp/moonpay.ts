import type { MoonPayPurchase } from "../../crypto/moonpay-url.ts";
import { moonPayCode } from "./offers.ts";
import {
  furthestOf,
  isOf,
  jsonOf,
  OnRampProblem,
  type OnRampProvider,
  type OnRampStatus,
  objectsIn,
  type Purchase,
} from "./provider.ts";

/** MoonPay: its page opens with a signed URL, without a request beforehand. */
export function createMoonPay(apiUrl: string): OnRampProvider {
  return {
    async begin(purchase, account) {
      const preset = presetOf(purchase, account.publishableApiKey);
      const { url } = await account.signUrl({ purchase: preset });
      if (purchase.urlForSignature === undefined) return { url };
      const { signature } = await account.signUrl({ url: purchase.urlForSignature });
      return { url, signature };
    },
    async statusOf(begun, { publishableApiKey }, ask) {
      const query = new URLSearchParams({ apiKey: publishableApiKey });
      const url = `${apiUrl}/v1/transactions/ext/${encodeURIComponent(begun.id)}?${query}`;
      const answer = await ask({ method: "GET", url });
      // Nobody has paid on the page yet.
      if (answer.status === 404) return "PENDING";
      const said = jsonOf(answer);
      const known = objectsIn(Array.isArray(said) ? said : [said]);
      if (!known) throw new OnRampProblem("provider", "it answered with no list of transactions");
      const own = known.filter((each) => isOf(begun, each.externalTransactionId, each.walletAddress));
      return furthestOf(own.map(statusIn));
    },
  };
}

function presetOf(purchase: Purchase, apiKey: string): MoonPayPurchase {
  const { network, currency, walletAddress, fiatCurrency, fiatAmount, paymentMethod, transactionId } = purchase;
  return {
    apiKey,
    currencyCode: moonPayCode(network, currency),
    walletAddress,
    ...(fiatCurrency === undefined ? {} : { baseCurrencyCode: fiatCurrency.toLowerCase() }),
    ...(fiatAmount === undefined ? {} : { baseCurrencyAmount: fiatAmount }),
    ...(paymentMethod === undefined ? {} : { paymentMethod }),
    externalTransactionId: transactionId,
  };
}

function statusIn({ status, failureReason }: Record<string, unknown>): OnRampStatus {
  if (status === "completed") return "COMPLETED";
  if (status !== "failed") return "PENDING";
  return typeof failureReason === "string" && /^cancell?ed\b/i.test(failureReason) ? "CANCELLED" : "FAILED";
}
