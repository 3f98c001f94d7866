import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { hostileVariants } from "../../test/support/hostile-json.ts";
import type { OutboundClient } from "../delivery/outbound.ts";
import { createLogger } from "../kernel/log.ts";
import { createTurnstile } from "./captcha/turnstile.ts";
import { createOauth2Clients, ExchangeProblem } from "./oauth2/exchange.ts";
import type { Oauth2Provider } from "./oauth2/providers.ts";
import { fetchKeysOf, IssuerProblem } from "./oidc/issuer-document.ts";
import { createOnRamps, type OnRampEndpoint, type OnRampHolder } from "./on-ramp/on-ramps.ts";
import { OnRampProblem } from "./on-ramp/provider.ts";
import { SwapProblem, type SwapProvider } from "./swaps/provider.ts";
import { relay } from "./swaps/relay.ts";

/** Whatever a provider answers, there is a result or an error of its own kind, which requests and jobs know how to tell. */

const ADDRESS = `0x${"12".repeat(20)}`;
const OTHER = `0x${"34".repeat(20)}`;
const HASH = `0x${"ab".repeat(32)}`;
const KEY = "11111111111111111111111111111112";
const SOLANA = 792_703_809;

/** The answer for each part of a URL. */
type Answers = Record<string, object>;
type Outbound = Pick<OutboundClient, "request">;

function outboundOf(textOf: (part: string) => string, answers: Answers): Outbound {
  return {
    request: async ({ url }) => {
      const part = Object.keys(answers).find((each) => url.includes(each));
      assert.ok(part, url);
      return { status: 200, headers: {}, body: Buffer.from(textOf(part)), truncated: false, durationMs: 1 };
    },
  };
}

const call = { from: ADDRESS, to: OTHER, data: "0x01", value: "0", chainId: 1 };
const money = (address: string, chainId = 1) => ({ currency: { chainId, address }, amount: "10", minimumAmount: "10" });
const offered = {
  details: {
    currencyIn: money(OTHER),
    currencyOut: money(ADDRESS),
    sender: ADDRESS,
    recipient: ADDRESS,
    slippageTolerance: { total: "10" },
    timeEstimate: 5,
  },
  steps: [{ id: "swap", kind: "transaction", requestId: HASH, items: [{ data: call }] }],
};
const order = {
  originChain: "eip155:1",
  destinationChain: "eip155:1",
  user: ADDRESS,
  inputToken: OTHER,
  outputToken: ADDRESS,
  inputAmount: "10",
  fees: [],
};
const instruction = { keys: [{ pubkey: KEY, isSigner: true, isWritable: true }], programId: KEY, data: "00" };
const offeredOnSolana = {
  details: {
    ...offered.details,
    currencyIn: money(KEY, SOLANA),
    currencyOut: money(KEY, SOLANA),
    sender: KEY,
    recipient: KEY,
  },
  steps: [
    {
      id: "swap",
      kind: "transaction",
      requestId: HASH,
      items: [{ data: { instructions: [instruction], addressLookupTableAddresses: [KEY] } }],
    },
  ],
};
const CLUSTER = "solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp";
const onSolana = {
  ...order,
  originChain: CLUSTER,
  destinationChain: CLUSTER,
  user: KEY,
  inputToken: KEY,
  outputToken: KEY,
};
const settled = {
  id: HASH,
  data: {
    route: { actual: { destination: { outputCurrency: { amount: "5" } } } },
    refundCurrencyData: { currency: { address: ADDRESS, chainId: 1 }, amount: "5" },
    outTxs: [{ chainId: 1, txHash: HASH }],
  },
  protocol: { settlement: { destination: { refunds: [{ transactionId: HASH }] } } },
};
const claim = {
  steps: [
    {
      id: "authorize",
      requestId: HASH,
      items: [
        {
          data: {
            sign: { signatureKind: "eip191", message: HASH },
            post: { endpoint: "/execute/permits", method: "POST", body: { requestId: HASH } },
          },
        },
      ],
    },
  ],
};

const swapsOf = (ask: (provider: SwapProvider, ask: Parameters<SwapProvider["offer"]>[1]) => Promise<unknown>) => {
  return (outbound: Outbound) =>
    ask(relay, async ({ method, path }) => {
      const { body } = await outbound.request({
        method,
        url: `https://relay.example${path}`,
        timeoutMs: 1,
        maxResponseBytes: 1,
      });
      // Its bounds on JSON are those of all providers; only what passes them comes this far.
      return JSON.parse(body.toString()) as Record<string, unknown>;
    });
};

const account: OnRampHolder["account"] = {
  publishableApiKey: "pk",
  signUrl: async () => ({ url: "https://page.example/", signature: "s" }),
  authorize: async () => "token",
};
const begun = { id: "purchase", walletAddress: ADDRESS };
const onRampsOf = (provider: OnRampHolder["provider"], what: "begin" | "statusOf") => (outbound: Outbound) => {
  const endpoint: OnRampEndpoint = { apiUrl: "https://ramp.example", outbound };
  const ramps = createOnRamps({ FIAT_ON_RAMP_PROVIDER_COINBASE: endpoint, FIAT_ON_RAMP_PROVIDER_MOONPAY: endpoint });
  const holder: OnRampHolder = { provider, rootId: "root", account };
  if (what === "statusOf") return ramps.statusOf(holder, begun);
  return ramps.begin(holder, {
    transactionId: "purchase",
    walletAddress: ADDRESS,
    network: "ETHEREUM",
    currency: "ETH",
    sandbox: false,
  });
};

const exchangeAt = (provider: Oauth2Provider) => (outbound: Outbound) =>
  createOauth2Clients({
    outbound,
    urls: { OAUTH2_PROVIDER_X: "https://x.example", OAUTH2_PROVIDER_DISCORD: "https://discord.example" },
    clock: Date.now,
  }).exchange({
    provider,
    clientId: "client",
    clientSecret: "secret",
    code: "code",
    redirectUri: "https://app.example/",
    codeVerifier: "verifier",
    boundTo: "key",
    organizationId: "organization",
  });

const token = { access_token: "abc", token_type: "bearer" };
const lines: string[] = [];
const log = createLogger("debug", { write: (line: string) => void lines.push(line) });
type Kind = abstract new (...args: never[]) => Error;
const none: Kind[] = [];

const cases: [string, Answers, Kind[], (outbound: Outbound) => Promise<unknown>][] = [
  ["an offer", { "/quote": offered }, [SwapProblem], swapsOf((provider, ask) => provider.offer(order, ask))],
  [
    "an offer on Solana",
    { "/quote": offeredOnSolana },
    [SwapProblem],
    swapsOf((provider, ask) => provider.offer(onSolana, ask)),
  ],
  [
    "progress",
    { "/intents": { status: "success", txHashes: [HASH] } },
    [SwapProblem],
    swapsOf((provider, ask) => provider.progressOf(HASH, ask)),
  ],
  [
    "a failed swap",
    { "/intents": { status: "failure", failReason: "SLIPPAGE" } },
    [SwapProblem],
    swapsOf((provider, ask) => provider.progressOf(HASH, ask)),
  ],
  [
    "a settlement",
    { "/requests": { requests: [settled] } },
    [SwapProblem],
    swapsOf((provider, ask) => provider.settlementOf(HASH, 1, ask)),
  ],
  [
    "a claim",
    { "/balances": { balances: [{ currency: { chainId: 8453, address: ADDRESS }, amount: "5" }] }, "/claim": claim },
    [SwapProblem],
    swapsOf((provider, ask) => provider.claimFor(ADDRESS, ask)),
  ],
  [
    "a purchase's page",
    { "/": { token: "abc" } },
    [OnRampProblem],
    onRampsOf("FIAT_ON_RAMP_PROVIDER_COINBASE", "begin"),
  ],
  [
    "a purchase at Coinbase",
    {
      "/": {
        transactions: [
          { status: "ONRAMP_TRANSACTION_STATUS_SUCCESS", partnerUserRef: "purchase", walletAddress: ADDRESS },
        ],
      },
    },
    [OnRampProblem],
    onRampsOf("FIAT_ON_RAMP_PROVIDER_COINBASE", "statusOf"),
  ],
  [
    "a purchase at MoonPay",
    {
      "/": [
        { status: "failed", failureReason: "Cancelled", externalTransactionId: "purchase", walletAddress: ADDRESS },
      ],
    },
    [OnRampProblem],
    onRampsOf("FIAT_ON_RAMP_PROVIDER_MOONPAY", "statusOf"),
  ],
  [
    "a person at X",
    { "/2/oauth2/token": token, "/2/users/me": { data: { id: "5" } } },
    [ExchangeProblem],
    exchangeAt("OAUTH2_PROVIDER_X"),
  ],
  [
    "a person at Discord",
    { "/api/oauth2/token": token, "/api/users/@me": { id: "5", email: "ada@example.com", verified: true } },
    [ExchangeProblem],
    exchangeAt("OAUTH2_PROVIDER_DISCORD"),
  ],
  [
    "an issuer's keys",
    {
      "/.well-known/openid-configuration": {
        issuer: "https://issuer.example",
        jwks_uri: "https://issuer.example/keys",
      },
      "/keys": { keys: [{ kty: "EC", crv: "P-256", x: "a", y: "a", kid: "k", alg: "ES256", use: "sig" }] },
    },
    [IssuerProblem],
    (outbound) => fetchKeysOf("https://issuer.example", { outbound, policy: { allowPrivateNetworks: false } }),
  ],
  [
    "a captcha",
    { "/turnstile": { success: true, "error-codes": ["invalid-input-secret"] } },
    none,
    (outbound) =>
      createTurnstile({ url: "https://captcha.example", siteKey: "k", secret: "s" }, outbound, log).verify("token", {
        organizationId: "organization",
        remoteAddress: undefined,
      }),
  ],
];

describe("whatever a provider answers", () => {
  for (const [name, answers, problems, run] of cases) {
    it(`${name} is read, or not, and nothing else comes of it`, async () => {
      await run(outboundOf((part) => JSON.stringify(answers[part]), answers));
      for (const [part, answer] of Object.entries(answers)) {
        for (const text of hostileVariants(answer)) {
          const outbound = outboundOf((asked) => (asked === part ? text : JSON.stringify(answers[asked])), answers);
          await run(outbound).catch((error: unknown) => {
            const isTold = problems.some((problem) => error instanceof problem);
            assert.ok(isTold, `${text.slice(0, 300)} causes ${(error as Error).stack}`);
          });
        }
      }
    });
  }
});
