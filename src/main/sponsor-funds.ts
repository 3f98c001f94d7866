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
 * Adds warnings to `readiness` about sponsors' accounts with low balances on a chain. They do not affect the status. Answers never wait for a
 * chain: they report the last known balances, and start the next check when it is due.
 *
 * @param addresses the sponsors' addresses by CAIP-2 namespace
 * @param rentPaid the Solana clusters on which they also pay rent
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
      warnings.set(
        chain,
        `the sponsor ${address} has ${balance} ${isSolana(chain) ? "lamports" : "wei"}: send it more, or sponsored transactions fail`,
      );
  };
  const leastOf = (chain: Chain): bigint => {
    if (!isSolana(chain)) return POOR_SPONSOR_WEI;
    return rentPaid.on(chain) ? POOR_RENT_SPONSOR_LAMPORTS : POOR_SPONSOR_LAMPORTS;
  };
  const lookAtAll = async () => {
    const of = await addresses();
    // Unavailable chains are reported elsewhere.
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
      // Without a database or a signer, the addresses are unknown; that is reported elsewhere too.
      lookAtAll().catch(() => undefined);
    }
    return { ...(await readiness()), ...(warnings.size > 0 ? { warnings: Object.fromEntries(warnings) } : {}) };
  };
}

const isSolana = (chain: Chain): chain is SolanaChain => chain.startsWith("solana:");
