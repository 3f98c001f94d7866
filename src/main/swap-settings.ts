import { type Static, Type } from "typebox";
import { type SwapChain, type SwapTerms, swapCluster } from "../capabilities/swaps/services.ts";
import { evmChains, isEvmChain } from "../chains/evm/networks.ts";
import type { OutboundClient } from "../delivery/outbound.ts";
import type { Services } from "../engine/services.ts";
import { MINUTE_MS } from "../kernel/durations.ts";
import { MAX_SWAP_FEE_BPS, SWAP_PROVIDER_TOTAL_MS } from "../kernel/limits.ts";
import { relay } from "../providers/swaps/relay.ts";
import { createSwaps } from "../providers/swaps/swaps.ts";
import { isOfPrivateNetwork, operatorUrlProblem } from "./operator-url.ts";

/** The configuration file's settings for swaps: the provider, the terms, and the contracts that may be called. */

const Address = Type.String({ pattern: "^0x[0-9a-fA-F]{40}$" });
/** A contract on an Ethereum chain, or a program on Solana. */
const Contract = Type.String({ pattern: "^(0x[0-9a-fA-F]{40}|[1-9A-HJ-NP-Za-km-z]{32,44})$" });
const Bps = Type.Integer({ minimum: 0, maximum: MAX_SWAP_FEE_BPS });
const closed = { additionalProperties: false };

const TIMEOUT_MS = 10_000;
const QUOTE_TTL_SECONDS = 60;
const POLL_MS = 5000;
const RELAY_URL = "https://api.relay.link";
/** The chains on which Relay swaps. */
const CHAINS = [
  ...(["eip155:1", "eip155:8453", "eip155:10", "eip155:42161", "eip155:137"] as const),
  ...(["eip155:56", "eip155:143", "eip155:4217"] as const),
  swapCluster,
] satisfies SwapChain[];

export const SwapSetting = Type.Object(
  {
    provider: Type.Unsafe<"relay">({ type: "string", enum: ["relay"] }),
    baseUrl: Type.Optional(Type.String({ maxLength: 2048 })),
    apiKey: Type.Optional(Type.String({ minLength: 1, maxLength: 255, pattern: "^[\\x21-\\x7e]*$" })),
    timeoutMs: Type.Optional(Type.Integer({ minimum: 100, maximum: SWAP_PROVIDER_TOTAL_MS })),
    quoteTtlSeconds: Type.Optional(Type.Integer({ minimum: 1, maximum: 3600 })),
    pollMs: Type.Optional(Type.Integer({ minimum: 100, maximum: MINUTE_MS })),
    serviceFee: Type.Optional(
      Type.Object(
        { bps: Type.Optional(Bps), stableBps: Type.Optional(Bps), recipient: Type.Optional(Address) },
        closed,
      ),
    ),
    chains: Type.Optional(Type.Array(Type.String(), { maxItems: evmChains.length + 1 })),
    contracts: Type.Optional(Type.Record(Type.String(), Type.Array(Contract, { maxItems: 100 }))),
  },
  {
    ...closed,
    description: `The provider of swaps, only in the configuration file: {"provider": "relay", "apiKey": "…", "contracts": {"eip155:8453": ["0x…"]}}. "contracts" are those that swaps may call. Optional are "baseUrl" (${RELAY_URL}), "timeoutMs" (${TIMEOUT_MS}) for one request, "quoteTtlSeconds" (${QUOTE_TTL_SECONDS}), "pollMs" (${POLL_MS}), "serviceFee": {"bps": 0, "stableBps": 0, "recipient": "0x…"} in basis points of the input, up to ${MAX_SWAP_FEE_BPS}, and "chains", by default all that the provider serves.`,
  },
);

export interface SwapSettings {
  baseUrl: string;
  apiKey: string | undefined;
  timeoutMs: number;
  terms: SwapTerms;
}

/** Undefined if no provider is configured. `refuse` receives the problem with the setting, without its key. */
export function swapSettingsOf(
  given: Static<typeof SwapSetting> | undefined,
  apiKey: string | undefined,
  allowPrivateNetworks: boolean,
  refuse: (problem: string) => never,
): SwapSettings | undefined {
  if (!given) return undefined;
  const { baseUrl = RELAY_URL, timeoutMs = TIMEOUT_MS, pollMs = POLL_MS } = given;
  const problem = operatorUrlProblem(baseUrl, allowPrivateNetworks);
  if (problem !== undefined) return refuse(`\`baseUrl\` ${problem}`);
  const { search, hash, username } = new URL(baseUrl);
  if (search || hash || username)
    return refuse("`baseUrl` must be an origin, optionally with a path, and nothing else");
  const { bps = 0, stableBps = bps, recipient } = given.serviceFee ?? {};
  if (recipient === undefined && bps + stableBps > 0) return refuse("`serviceFee.recipient` is missing");
  const chainOf = (text: string, where: string): SwapChain =>
    isEvmChain(text) || text === swapCluster
      ? text
      : refuse(`\`${where}\` names ${JSON.stringify(text)}, which is not a chain for swaps`);
  const contracts = Object.entries(given.contracts ?? {}).map(([name, addresses]) => {
    const chain = chainOf(name, "contracts");
    return [chain, addresses.map((address) => contractOn(chain, address, refuse))] as const;
  });
  return {
    baseUrl: baseUrl.replace(/\/+$/, ""),
    apiKey: given.apiKey ?? apiKey,
    timeoutMs,
    terms: {
      quoteLifetimeMs: (given.quoteTtlSeconds ?? QUOTE_TTL_SECONDS) * 1000,
      pollMs,
      serviceFee: { bps, stableBps, recipient: recipient?.toLowerCase() },
      chains: given.chains?.map((chain) => chainOf(chain, "chains")) ?? CHAINS,
      contracts: Object.fromEntries(contracts),
    },
  };
}

/** The form in which it is compared: a contract in lowercase, a program unchanged. */
function contractOn(chain: SwapChain, address: string, refuse: (problem: string) => never): string {
  if (address.startsWith("0x") === (chain === swapCluster)) {
    return refuse(
      `\`contracts.${chain}\` names ${address}, which is not a ${chain === swapCluster ? "program" : "contract"} on this chain`,
    );
  }
  return chain === swapCluster ? address : address.toLowerCase();
}

/** A provider on a private address needs the client that may reach those; others are called by the guarded client. */
export function swapService(
  settings: SwapSettings | undefined,
  clients: { outbound: OutboundClient; toOwnNetwork: OutboundClient },
): Services["swaps"] {
  if (!settings) return undefined;
  const { terms, ...endpoint } = settings;
  const outbound = isOfPrivateNetwork(settings.baseUrl) ? clients.toOwnNetwork : clients.outbound;
  return { ...createSwaps(relay, { ...endpoint, outbound }), terms };
}
