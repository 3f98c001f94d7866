import type { OutboundClient } from "../../delivery/outbound.ts";
import { KeysteadError } from "../../kernel/errors.ts";
import { createLogger } from "../../kernel/log.ts";
import { type Chain, familyOf } from "../../nodes/families.ts";
import { createNodes } from "../../nodes/pool.ts";
import type { ChainSettings } from "../chain-settings.ts";
import type { Config } from "../config.ts";
import { type Finding, fail, ok, warn } from "./finding.ts";

/** Asks each node for its chain id. The check of a chain fails only if all of its nodes fail. */
export async function checkChains({ chains }: Pick<Config, "chains">, outbound: OutboundClient): Promise<Finding[]> {
  const named = Object.entries(chains) as [Chain, ChainSettings][];
  return (await Promise.all(named.map(([chain, settings]) => checkChain(chain, settings, outbound)))).flat();
}

async function checkChain(
  chain: Chain,
  { rpcUrls, pollMs }: ChainSettings,
  outbound: OutboundClient,
): Promise<Finding[]> {
  const check = `chain ${chain}`;
  const looks = rpcUrls.map(async (url) => {
    // A pool of one node, because in a larger pool one answer would count for all nodes.
    const nodes = createNodes({
      chains: { [chain]: { rpcUrls: [url], pollMs } },
      outbound,
      log: createLogger("silent"),
    });
    return { host: new URL(url).host, problem: await problemOf(chain, nodes) };
  });
  const seen = await Promise.all(looks);
  const verdict = seen.every(({ problem }) => problem !== undefined) ? fail : warn;
  return seen.map(({ host, problem }) =>
    problem === undefined
      ? ok(check, `${host} serves this chain`)
      : verdict(check, `${problem}; repair the node, or name another one in \`chains.${chain}.rpcUrls\``),
  );
}

async function problemOf(chain: Chain, nodes: ReturnType<typeof createNodes>): Promise<string | undefined> {
  const { identityMethod, chainIn } = familyOf(chain);
  try {
    await nodes.call(chain, {
      method: identityMethod,
      params: [],
      read: (answer) => ("result" in answer && chainIn(answer.result) === chain ? true : undefined),
    });
    return undefined;
  } catch (error) {
    if (error instanceof KeysteadError) return error.message;
    throw error;
  }
}
