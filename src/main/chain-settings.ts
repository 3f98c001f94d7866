import { type Static, Type } from "typebox";
import { type EvmChain, evmChains, isEvmChain } from "../chains/evm/networks.ts";
import { checkOutboundUrl } from "../delivery/url-rules.ts";
import { MAX_RPC_URLS } from "../kernel/limits.ts";
import type { EvmChainSettings } from "../nodes/evm.ts";

/** The nodes of chains, as the configuration file names them. Their URLs may hold keys and are never shown. */

const POLL_MS = 15_000;

export const Chains = Type.Record(
  Type.String(),
  Type.Object(
    {
      rpcUrls: Type.Array(Type.String(), { minItems: 1, maxItems: MAX_RPC_URLS }),
      pollMs: Type.Optional(Type.Integer({ minimum: 1000, maximum: 3_600_000 })),
    },
    { additionalProperties: false },
  ),
  {
    description: `Nodes by chain, in the file alone: {"eip155:1": {"rpcUrls": ["https://…"]}}, up to ${MAX_RPC_URLS} URLs each, tried in their order, and "pollMs" (${POLL_MS}), after which a silent node is looked after.`,
  },
);

/** The chains with their nodes; `refuse` is told what is wrong with the setting, without its URLs. */
export function evmChainsOf(
  chains: Static<typeof Chains>,
  allowPrivateNetworks: boolean,
  refuse: (problem: string) => never,
): Partial<Record<EvmChain, EvmChainSettings>> {
  const settings: Partial<Record<EvmChain, EvmChainSettings>> = {};
  for (const [chain, { rpcUrls, pollMs = POLL_MS }] of Object.entries(chains)) {
    if (!isEvmChain(chain))
      return refuse(`\`${chain}\` is no chain that can be named; these are ${evmChains.join(", ")}`);
    for (const [index, url] of rpcUrls.entries()) {
      const problem = urlProblem(url, allowPrivateNetworks);
      if (problem !== undefined) return refuse(`\`${chain}.rpcUrls.${index}\` ${problem}`);
    }
    settings[chain] = { rpcUrls, pollMs };
  }
  return settings;
}

/** Plain http is for networks of one's own: anybody on the way could tell us what they like. */
function urlProblem(text: string, allowPrivateNetworks: boolean): string | undefined {
  const checked = checkOutboundUrl(text, { allowPrivateNetworks: true });
  if ("problem" in checked) return checked.problem;
  if (checked.url.protocol === "https:" || allowPrivateNetworks) return undefined;
  const isOfPrivateNetwork = "problem" in checkOutboundUrl(text.replace(/^http/i, "https"), { allowPrivateNetworks });
  return isOfPrivateNetwork ? undefined : "must use https, or name a private address";
}
