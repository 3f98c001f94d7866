import { isEvmChain } from "../../chains/evm/networks.ts";
import { isSolanaChain } from "../../chains/solana/networks.ts";
import { type JobContext, type JobKind, type JobResult, reconciler } from "../../engine/jobs/jobs.ts";
import { MINUTE_MS } from "../../kernel/durations.ts";
import { KeysteadError } from "../../kernel/errors.ts";
import type { Chain } from "../../nodes/families.ts";
import type { Transactor } from "../../storage/engine.ts";
import { follow, Tracing, type Turn } from "./follow.ts";
import { followSolana } from "./follow-solana.ts";
import { findFollowed, type Progress, storeProgress } from "./following.ts";
import { isAnythingDue, tellChanges } from "./telling.ts";

/** The watchers of chains. Each is a job in its own lane, which one server process at a time leases. */

/** After each failure, the pause doubles, up to this. */
const LONGEST_REST_MS = MINUTE_MS;

/** A watcher for each chain with nodes. Servers without nodes for a chain leave its job to those that have some. */
export const chainWatchers = (chains: Readonly<Record<string, { pollMs: number }>>): JobKind[] =>
  Object.entries(chains).flatMap(([chain, { pollMs }]) =>
    isEvmChain(chain) || isSolanaChain(chain) ? [chainWatcher(chain, pollMs)] : [],
  );

function chainWatcher(chain: Chain, pollMs: number): JobKind {
  const tracing = new Tracing();
  let failures = 0;
  const restMs = () => Math.min(Math.max(LONGEST_REST_MS, pollMs), pollMs * 2 ** Math.min(failures, 16));
  return reconciler({
    name: `watch_chain:${chain}`,
    everyMs: pollMs,
    needs: ["evm", "solana", "assets"],
    async run(context) {
      const turn = await tryToFollow(context, chain, tracing);
      const { trouble } = turn;
      failures = trouble === undefined ? 0 : failures + 1;
      if (trouble !== undefined) context.log.warn({ chain, reason: trouble }, "a chain could not be followed");
      return turn.progress
        ? found(context, turn.progress, turn, restMs())
        : nothingFound(context, chain, turn, restMs());
    },
  });
}

type Context = JobContext<null, "evm" | "solana" | "assets">;

async function tryToFollow(context: Context, chain: Chain, tracing: Tracing): Promise<Turn> {
  const { evm, solana, assets, log, clock } = context;
  const { read } = context.database;
  try {
    return isSolanaChain(chain)
      ? await followSolana({ solana, assets, read, log }, chain, clock())
      : await follow({ evm, assets, read, log, tracing }, chain, clock());
  } catch (error) {
    if (!(error instanceof KeysteadError && error.code === "CHAIN_UNAVAILABLE")) throw error;
    return { progress: undefined, isBehind: false, trouble: error.message };
  }
}

/**
 * Stores what was found, provided that the process still holds the lease. Each run announces a bounded number of changes, so that following the
 * chain and announcing changes do not hold up each other.
 */
function found({ clock }: Context, progress: Progress, { isBehind, trouble }: Turn, restMs: number): JobResult {
  const goesOn = isBehind || (progress.entries.length > 0 && trouble === undefined);
  return {
    next: { do: "retry", inMs: goesOn ? 0 : restMs },
    ...(trouble === undefined ? {} : { reason: trouble }),
    record: (tx: Transactor) => storeAndTell(tx, progress, clock()),
  };
}

/** Announces changes that were found before, if any are due. */
async function nothingFound(
  { database, clock }: Context,
  caip2: Chain,
  { isBehind, trouble }: Turn,
  restMs: number,
): Promise<JobResult> {
  const reason = trouble === undefined ? {} : { reason: trouble };
  const followed = await findFollowed(database.read, caip2);
  const due = followed && { caip2, finalizedNumber: followed.finalizedNumber };
  if (!due || !(await isAnythingDue(database.read, due))) {
    return { next: { do: "retry", inMs: isBehind ? 0 : restMs }, ...reason };
  }
  return {
    next: { do: "retry", inMs: 0 },
    ...reason,
    record: (tx: Transactor) => tellChanges(tx, { ...due, now: clock() }),
  };
}

async function storeAndTell(tx: Transactor, progress: Progress, now: number): Promise<void> {
  const isStored = await storeProgress(tx, progress);
  if (isStored) {
    const { caip2, to } = progress;
    await tellChanges(tx, { caip2, finalizedNumber: to.finalizedNumber, now });
  }
}
