import type { SolanaChain } from "../chains/solana/networks.ts";
import type { Readiness } from "../http/pages.ts";
import { type Clock, systemClock } from "../kernel/clock.ts";
import {
  POOR_RENT_SPONSOR_LAMPORTS,
  POOR_SPONSOR_LAMPORTS,
  POOR_SPONSOR_WEI,
  SPONSOR_LOOK_MS,
} from "../kernel/limits.ts";
import { balanceOf } from "../nodes/balances.ts";
import type { Chain } from "../nodes/families.ts";
import type { Nodes } from "../nodes/pool.ts";

/**
 * `readiness` with warnings of sponsors' accounts that are poor on a chain, which change nothing of the status. Nobody waits for a chain:
 * what is told is what the last look found, and each answer has the next look begin when it is time.
 *
 * @param addresses of the sponsors by the namespaces of CAIP-2
 * @param rentPaid the clusters of Solana on which they pay rent as well
 */
export function withSponsors(
  readiness: () => Promise<Readiness>,
  {
    chains,
    nodes,
    addresses,
    rentPaid,
    clock = systemClock,
  }: {
    chains: readonly Chain[];
    nodes: Pick<Nodes<Chain>, "call">;
    addresses: () => Promise<Record<string, string>>;
    rentPaid: { on(chain: SolanaChain): boolean };
    clock?: Clock;
  },
): () => Promise<Readiness> {
  const warnings = new Map<Chain, string>();
  let lookedAt = Number.NEGATIVE_INFINITY;
  const look = async (chain: Chain, address: string) => {
    const least = leastOf(chain);
    const balance = await balanceOf(nodes, chain, address);
    if (balance >= least) warnings.delete(chain);
    else
      warnings.set(chain, `the sponsor ${address} has ${balance} ${isSolana(chain) ? "lamports" : "wei"}: pay it some`);
  };
  const leastOf = (chain: Chain): bigint => {
    if (!isSolana(chain)) return POOR_SPONSOR_WEI;
    return rentPaid.on(chain) ? POOR_RENT_SPONSOR_LAMPORTS : POOR_SPONSOR_LAMPORTS;
  };
  const lookAtAll = async () => {
    const of = await addresses();
    // A chain that is away is told of elsewhere.
    await Promise.allSettled(
      chains.map(async (chain) => {
        const address = of[chain.slice(0, chain.indexOf(":"))];
        if (address !== undefined) await look(chain, address);
      }),
    );
  };
  return async () => {
    if (chains.length > 0 && clock() - lookedAt >= SPONSOR_LOOK_MS) {
      lookedAt = clock();
      // Without a database or a signer there are no addresses, which is told of elsewhere too.
      lookAtAll().catch(() => undefined);
    }
    return { ...(await readiness()), ...(warnings.size > 0 ? { warnings: Object.fromEntries(warnings) } : {}) };
  };
}

const isSolana = (chain: Chain): chain is SolanaChain => chain.startsWith("solana:");
