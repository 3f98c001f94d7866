import { type Static, Type } from "typebox";
import type { Token } from "../chains/evm/assets.ts";
import { GAS_STATION_ADDRESS } from "../chains/evm/gas-station.ts";
import { type EvmChain, evmChains, isEvmChain } from "../chains/evm/networks.ts";
import { isSolanaChain, type SolanaChain, solanaChains } from "../chains/solana/networks.ts";
import { HOUR_MS } from "../kernel/durations.ts";
import { MAX_PRICES, MAX_RPC_URLS, MAX_TOKENS_PER_CHAIN } from "../kernel/limits.ts";
import type { Chain } from "../nodes/families.ts";
import type { ChainSettings as NodeSettings } from "../nodes/pool.ts";
import { operatorUrlProblem } from "./operator-url.ts";

/**
 * The configuration file's settings for the nodes and known tokens of chains, and for the prices of assets. URLs of nodes may contain keys and
 * are never shown.
 */

export interface ChainSettings extends NodeSettings {
  /** In addition to the built-in ones. */
  assets: readonly Token[];
  /** The address of the gas station, if it is not the one that this server deploys; lowercase. */
  gasStation?: string;
  /** For a Solana cluster: whether this installation pays the rent of accounts that its sponsored transactions create. */
  sponsorRent?: boolean;
}

const POLL_MS = 15_000;

const EVM_TOKEN = /^0x[0-9a-fA-F]{40}$/;
/** An amount of a chain's native asset. */
const AMOUNT = "^[0-9]{1,9}(\\.[0-9]{1,18})?$";
const MINT = /^[1-9A-HJ-NP-Za-km-z]{32,44}$/;

const Asset = Type.Object(
  {
    address: Type.String({ pattern: `${EVM_TOKEN.source}|${MINT.source}` }),
    symbol: Type.String({ minLength: 1, maxLength: 32 }),
    name: Type.String({ minLength: 1, maxLength: 64 }),
    decimals: Type.Integer({ minimum: 0, maximum: 77 }),
    stable: Type.Optional(Type.Boolean()),
  },
  { additionalProperties: false },
);

export const Prices = Type.Record(
  Type.String({ pattern: "^[-a-z0-9]{3,8}:[-_a-zA-Z0-9]{1,32}/[-a-z0-9]{3,8}:[-.%a-zA-Z0-9]{1,128}$" }),
  Type.String({ pattern: "^[0-9]{1,15}(\\.[0-9]{1,18})?$" }),
  {
    additionalProperties: false,
    maxProperties: MAX_PRICES,
    description:
      'The price of one whole unit of each asset in US dollars, only in the configuration file: {"eip155:1/slip44:60": "2000.00"}.',
  },
);

export const Chains = Type.Record(
  Type.String(),
  Type.Object(
    {
      rpcUrls: Type.Array(Type.String(), { minItems: 1, maxItems: MAX_RPC_URLS }),
      pollMs: Type.Optional(Type.Integer({ minimum: 100, maximum: HOUR_MS })),
      assets: Type.Optional(Type.Array(Asset, { maxItems: MAX_TOKENS_PER_CHAIN })),
      gasStation: Type.Optional(Type.String({ pattern: "^0x[0-9a-fA-F]{40}$" })),
      sponsorRent: Type.Optional(Type.Boolean()),
      txFeeCap: Type.Optional(Type.String({ pattern: AMOUNT })),
      sponsoredTxFeeCap: Type.Optional(Type.String({ pattern: AMOUNT })),
    },
    { additionalProperties: false },
  ),
  {
    description: `Nodes by chain, only in the configuration file: {"eip155:1": {"rpcUrls": ["https://…"]}}, up to ${MAX_RPC_URLS} URLs for each chain, tried in order. "pollMs" (${POLL_MS}) is the interval at which an idle node is checked and new blocks are looked for. "assets" are tokens in addition to the built-in ones; "stable" marks those that are worth one unit of a currency. "gasStation" is the address of the gas station, if it is not the usual one. With "sponsorRent" (false), on a Solana cluster, the service also pays the rent of accounts that sponsored transactions create. "txFeeCap" ("1") is the most, in an Ethereum chain's native asset, that one transaction may cost in fees if its request names no \`maxFeePerGas\`, and "sponsoredTxFeeCap" ("0.5") is the most if the service pays.`,
  },
);

/** The chains with their nodes. `refuse` receives the problem with the setting, without its URLs. */
export function chainsOf(
  chains: Static<typeof Chains>,
  allowPrivateNetworks: boolean,
  refuse: (problem: string) => never,
): Partial<Record<Chain, ChainSettings>> {
  const settings: Partial<Record<Chain, ChainSettings>> = {};
  for (const [chain, given] of Object.entries(chains)) {
    const { rpcUrls, pollMs = POLL_MS, assets = [], gasStation, sponsorRent } = given;
    if (!isEvmChain(chain) && !isSolanaChain(chain)) {
      const named = [...evmChains, ...solanaChains].join(", ");
      return refuse(`\`${chain}\` is not a chain that can be configured; these are ${named}`);
    }
    for (const [index, url] of rpcUrls.entries()) {
      const problem = operatorUrlProblem(url, allowPrivateNetworks);
      if (problem !== undefined) return refuse(`\`${chain}.rpcUrls.${index}\` ${problem}`);
    }
    const form = isSolanaChain(chain) ? MINT : EVM_TOKEN;
    const misplaced = assets.findIndex(({ address }) => !form.test(address));
    if (misplaced >= 0)
      return refuse(`\`${chain}.assets.${misplaced}.address\` is not an address of a token on this chain`);
    if (gasStation !== undefined && !isEvmChain(chain))
      return refuse(`\`${chain}.gasStation\` is only for Ethereum chains`);
    if (sponsorRent !== undefined && !isSolanaChain(chain))
      return refuse(`\`${chain}.sponsorRent\` is only for Solana clusters`);
    const caps: Partial<Record<(typeof feeCaps)[number], bigint>> = {};
    for (const name of feeCaps) {
      const amount = given[name];
      if (amount === undefined) continue;
      if (!isEvmChain(chain)) return refuse(`\`${chain}.${name}\` is only for Ethereum chains`);
      caps[name] = weiOf(amount);
      if (caps[name] === 0n) return refuse(`\`${chain}.${name}\` must be more than 0, or nothing could be sent`);
    }
    settings[chain] = {
      rpcUrls,
      pollMs,
      assets,
      ...(gasStation === undefined ? {} : { gasStation: gasStation.toLowerCase() }),
      ...(sponsorRent === undefined ? {} : { sponsorRent }),
      ...caps,
    };
  }
  return settings;
}

const feeCaps = ["txFeeCap", "sponsoredTxFeeCap"] as const;

function weiOf(amount: string): bigint {
  const [whole = "", rest = ""] = amount.split(".");
  return BigInt(whole + rest.padEnd(18, "0"));
}

/** The gas stations: the operator's, or the one that this server deploys. */
export const gasStationsOf = (chains: Partial<Record<Chain, ChainSettings>>) => ({
  of: (chain: EvmChain): string => chains[chain]?.gasStation ?? GAS_STATION_ADDRESS,
});

/** The Solana clusters on which the operator pays rent. */
export const rentPaidOf = (chains: Partial<Record<Chain, ChainSettings>>) => ({
  on: (chain: SolanaChain): boolean => chains[chain]?.sponsorRent === true,
});

/** The tokens that the operator names, by chain. */
export const tokensOf = (chains: Partial<Record<Chain, ChainSettings>>): Partial<Record<Chain, readonly Token[]>> =>
  Object.fromEntries(Object.entries(chains).map(([chain, { assets }]) => [chain, assets]));
