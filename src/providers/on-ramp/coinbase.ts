import { type CoinbaseRequest, coinbaseRequestLine } from "../../crypto/coinbase-requests.ts";
import {
  type Ask,
  furthestOf,
  isOf,
  jsonOf,
  type OnRampAccount,
  OnRampProblem,
  type OnRampProvider,
  type OnRampStatus,
  objectsIn,
  type Purchase,
} from "./provider.ts";

/** Coinbase: its page opens with a token for one purchase, which works once within five minutes. */
export function createCoinbase(apiUrl: string): OnRampProvider {
  const { host } = new URL(apiUrl);

  const request = async (account: OnRampAccount, ask: Ask, of: CoinbaseRequest, body?: object) => {
    const { method, path } = coinbaseRequestLine(of);
    const headers = { authorization: `Bearer ${await account.authorize(host, of)}` };
    return ask({
      method,
      url: `${apiUrl}${path}`,
      ...(body === undefined
        ? { headers }
        : { headers: { ...headers, "content-type": "application/json" }, body: JSON.stringify(body) }),
    });
  };

  return {
    async begin(purchase, account, ask) {
      const { walletAddress, network, currency, clientAddress } = purchase;
      const answer = await request(
        account,
        ask,
        { of: "token" },
        {
          addresses: [{ address: walletAddress, blockchains: [network.toLowerCase()] }],
          assets: [currency],
          ...(clientAddress === undefined ? {} : { clientIp: clientAddress }),
        },
      );
      return { url: pageOf(purchase, tokenIn(jsonOf(answer))) };
    },
    async statusOf(begun, account, ask) {
      const answer = await request(account, ask, { of: "transactions", transactionId: begun.id });
      if (answer.status === 404) return "PENDING";
      const { transactions } = (jsonOf(answer) ?? {}) as { transactions?: unknown };
      // Coinbase omits an empty list.
      const known = transactions === undefined ? [] : objectsIn(transactions);
      if (!known) throw new OnRampProblem("provider", "it answered with no list of transactions");
      const own = known.filter((each) =>
        isOf(begun, each.partnerUserRef ?? each.partner_user_ref, each.walletAddress ?? each.wallet_address),
      );
      return furthestOf(own.map(statusIn));
    },
  };
}

const TOKEN = /^[\x21-\x7e]{1,2048}$/;

function tokenIn(said: unknown): string {
  const { token } = (said ?? {}) as { token?: unknown };
  if (typeof token === "string" && TOKEN.test(token)) return token;
  throw new OnRampProblem("provider", "it gave no session token");
}

function pageOf(purchase: Purchase, sessionToken: string): string {
  const { network, currency, fiatAmount, fiatCurrency, paymentMethod, transactionId, sandbox } = purchase;
  const url = new URL(sandbox ? "https://pay-sandbox.coinbase.com/" : "https://pay.coinbase.com/buy/select-asset");
  const parameters = {
    sessionToken,
    defaultNetwork: network.toLowerCase(),
    defaultAsset: currency,
    presetFiatAmount: fiatAmount,
    fiatCurrency,
    defaultPaymentMethod: paymentMethod,
    partnerUserRef: transactionId,
  };
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined) url.searchParams.set(name, value);
  }
  return url.href;
}

function statusIn({ status }: Record<string, unknown>): OnRampStatus {
  const word = typeof status === "string" ? status.replace(/^ONRAMP_TRANSACTION_STATUS_/, "") : "";
  if (word === "SUCCESS") return "COMPLETED";
  if (word === "FAILED") return "FAILED";
  return /^CANCELL?ED$/.test(word) ? "CANCELLED" : "PENDING";
}
