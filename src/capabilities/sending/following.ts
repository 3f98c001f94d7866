import type { JobContext, JobResult } from "../../engine/jobs/jobs.ts";
import { MINUTE_MS } from "../../kernel/durations.ts";
import { KeysteadError } from "../../kernel/errors.ts";
import { MAX_CONNECTIONS_PER_HOST } from "../../kernel/limits.ts";
import type { Reader, Transactor } from "../../storage/engine.ts";
import type { SentTransaction } from "./store.ts";

/** What the jobs that follow sent transactions have in common, whatever their chain. */

type Open = Pick<SentTransaction, "createdAt">;

/** How long transactions rest when no node answers ... */
const AWAY_PAUSE_MS = 2000;
/** ... and after a fault of our own. */
const FAULT_PAUSE_MS = 10_000;
/** Between two looks: as long as the youngest transaction has been on its way, up to this, ... */
const USUAL_PAUSE_MS = 2000;
/** ... and longer for those that have been on their way for very long: this part of that time, ... */
const PART_OF_AGE = 1 / 100;
/** ... up to this. */
const LONGEST_PAUSE_MS = MINUTE_MS;
/** Lanes of this process whose last look failed, so that it is told once; it is forgotten now and then. */
const failing = new Set<string>();
const MAX_FAILING = 10_000;

/** Milliseconds between two looks at transactions, the youngest of which has been on its way for so long. */
export function pauseFor(youngestMs: number, shortestMs: number): number {
  const usual = Math.min(USUAL_PAUSE_MS, Math.max(shortestMs, youngestMs));
  return Math.max(usual, Math.min(LONGEST_PAUSE_MS, youngestMs * PART_OF_AGE));
}

interface Following<One extends Open> {
  context: Pick<JobContext<object>, "payload" | "database" | "clock" | "log">;
  /** By which the job is told from others. */
  lane: string;
  /** One look at the chain, which moves on what can be moved. Resolves to whether there is more that can be moved at once. */
  look: () => Promise<boolean>;
  /** Those that are still to be followed, as far as the pause depends on them. */
  openOf: (read: Reader) => Promise<readonly One[]>;
  /** Since when one is on its way, where that is not since it was asked for; milliseconds. */
  since?: (one: One) => number;
  /** Milliseconds until the next look; `youngestMs` is for how long the youngest has been on its way. */
  pauseAfter: (left: readonly One[], youngestMs: number) => number;
  enqueue: (tx: Transactor, now: number) => Promise<void>;
}

/** Looks once, and says when to look again; the job ends when there is nothing left to follow. */
export async function followOnce<One extends Open>({
  context: { payload, database, clock, log },
  lane,
  look,
  openOf,
  since = ({ createdAt }) => createdAt,
  pauseAfter,
  enqueue,
}: Following<One>): Promise<JobResult> {
  let goesOn = false;
  try {
    goesOn = await look();
    failing.delete(lane);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    if (!failing.has(lane)) log.warn({ ...payload, reason }, "transactions on their way could not be followed");
    if (failing.size >= MAX_FAILING) failing.clear();
    failing.add(lane);
    // No try counts: the pause stays short, however long they have been followed.
    if (error instanceof KeysteadError && error.isTransient) return { next: { do: "pause", inMs: AWAY_PAUSE_MS } };
    return { next: { do: "retry", inMs: FAULT_PAUSE_MS }, reason };
  }
  const left = await openOf(database.read);
  if (left.length > 0) {
    const youngest = Math.max(...left.map(since));
    return { next: { do: "retry", inMs: goesOn ? 0 : pauseAfter(left, clock() - youngest) } };
  }
  return {
    next: { do: "finish" },
    // One that was committed before this job could be queued again must not be left to nobody.
    record: async (tx) => {
      if ((await openOf(tx)).length > 0) await enqueue(tx, clock());
    },
  };
}

/** Does it with all of them, as many at a time as there are connections to a node; what fails is added to `problems`, and keeps none of the others. */
export async function severalAtATime<T>(
  problems: unknown[],
  all: readonly T[],
  act: (one: T) => Promise<void>,
): Promise<void> {
  const left = all.values();
  const worker = async () => {
    for (const one of left) await act(one).catch((error: unknown) => problems.push(error));
  };
  await Promise.all(Array.from({ length: Math.min(all.length, MAX_CONNECTIONS_PER_HOST) }, worker));
}
