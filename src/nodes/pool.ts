import type { EvmChain } from "../chains/evm/networks.ts";
import type { SolanaChain } from "../chains/solana/networks.ts";
import { type Clock, systemClock } from "../kernel/clock.ts";
import { fail } from "../kernel/errors.ts";
import { SPONSORED_TX_FEE_CAP, TX_FEE_CAP } from "../kernel/limits.ts";
import { ChainNode, type ChainNodeOptions, type NodeStatus, type RpcCall } from "./chain-node.ts";
import type { Chain } from "./families.ts";

/** The nodes of one chain, as configured. */
export interface ChainSettings {
  /** In the order in which they are tried. */
  rpcUrls: readonly string[];
  /** Milliseconds between two checks of the nodes. A node that was heard from since the last check is not called. */
  pollMs: number;
  /** The highest fee for one transaction that is filled in from nodes, in wei, for an Ethereum chain. */
  txFeeCap?: bigint;
  /** The same for transactions whose fees the installation pays. */
  sponsoredTxFeeCap?: bigint;
}

/** The payer of a transaction's fees: its account or the installation. */
export type Payer = "account" | "sponsor";

export interface ChainHealth {
  /** `ready` if at least one of its nodes is. */
  status: NodeStatus;
  nodes: { host: string; status: NodeStatus }[];
}

/** The chains, of some families, that this installation can reach. */
export interface Nodes<Reached extends Chain> {
  /**
   * Refuses a chain that cannot be used: one without nodes, or one whose nodes all serve another chain. A node that only does not answer
   * may do so later.
   *
   * @throws KeysteadError CHAIN_NOT_CONFIGURED, CHAIN_UNAVAILABLE
   */
  requireChain(chain: Reached): Promise<void>;
  /**
   * The meaning of the first usable answer; nodes are called in order. A call may reach several nodes, so it must be idempotent.
   *
   * @throws KeysteadError CHAIN_UNAVAILABLE; AnswerTooLarge if the call has its own bound
   */
  call<T>(chain: Reached, call: RpcCall<T>): Promise<T>;
  /** The highest fee for a transaction that is accepted from nodes, in wei, whatever gas and price they report. */
  feeCap(chain: Reached, payer: Payer): bigint;
  /** The status of all chains that have nodes. Of their URLs it contains only the hosts. */
  health(): Record<string, ChainHealth>;
}

export type EvmNodes = Nodes<EvmChain>;
export type SolanaNodes = Nodes<SolanaChain>;

export interface NodesOptions extends Omit<ChainNodeOptions, "clock"> {
  chains: Partial<Record<Chain, ChainSettings>>;
  clock?: Clock;
}

/** `start` begins to check the nodes, immediately and whenever one has been silent for long. `stop` ends that. */
export function createNodes(options: NodesOptions): Nodes<Chain> & { start(): void; stop(): void } {
  const { chains, outbound, log, onCall, clock = systemClock } = options;
  const settings = Object.entries(chains) as [Chain, ChainSettings][];
  const nodesOf = new Map(
    settings.map(([chain, { rpcUrls }]) => [
      chain,
      rpcUrls.map((url) => new ChainNode(url, chain, { outbound, clock, log, onCall })),
    ]),
  );
  const timers: NodeJS.Timeout[] = [];

  return {
    async requireChain(chain) {
      const nodes = nodesOf.get(chain) ?? fail("CHAIN_NOT_CONFIGURED", { chain });
      if (statusOf(nodes) === "unchecked") await oneIsReady(nodes);
      const problems = nodes.map(({ problem }) => problem);
      if (statusOf(nodes) === "wrong chain") failUnavailable(chain, problems);
    },
    async call(chain, call) {
      const problems: string[] = [];
      for (const node of nodesOf.get(chain) ?? []) {
        const answered = await node.ask(call);
        if ("meaning" in answered) return answered.meaning;
        problems.push(answered.problem);
      }
      return failUnavailable(chain, problems);
    },
    feeCap(chain, payer) {
      const { txFeeCap = TX_FEE_CAP, sponsoredTxFeeCap = SPONSORED_TX_FEE_CAP } = chains[chain] ?? {};
      return payer === "sponsor" && sponsoredTxFeeCap < txFeeCap ? sponsoredTxFeeCap : txFeeCap;
    },
    health: () => Object.fromEntries([...nodesOf].map(([chain, nodes]) => [chain, healthOf(nodes)])),
    start() {
      for (const [chain, { pollMs }] of settings) {
        const lookAfterAll = () => {
          for (const node of nodesOf.get(chain) ?? []) {
            node.lookAfter(pollMs).catch((error: Error) => log.error({ err: error }, "a node could not be checked"));
          }
        };
        lookAfterAll();
        timers.push(setInterval(lookAfterAll, pollMs).unref());
      }
    },
    stop: () => timers.splice(0).forEach(clearInterval),
  };
}

function failUnavailable(chain: Chain, problems: readonly string[]): never {
  const reason = problems.length > 0 ? problems.join("; ") : "no node is configured for it any more";
  fail("CHAIN_UNAVAILABLE", { chain, reason });
}

/** Resolves when one of them is ready or all have failed. */
async function oneIsReady(nodes: readonly ChainNode[]): Promise<void> {
  const checks = nodes.map(async (node) => {
    if (!(await node.check())) throw new Error(node.problem);
  });
  await Promise.any(checks).catch(() => undefined);
}

const healthOf = (nodes: readonly ChainNode[]): ChainHealth => ({
  status: statusOf(nodes),
  nodes: nodes.map(({ host, status }) => ({ host, status })),
});

/** The best status among the nodes. A chain counts as the wrong one only if all its nodes serve another. */
function statusOf(nodes: readonly ChainNode[]): NodeStatus {
  const best = (["ready", "unchecked", "unavailable"] as const).find((status) =>
    nodes.some((node) => node.status === status),
  );
  return best ?? "wrong chain";
}
