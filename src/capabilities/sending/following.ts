import type { JobContext, JobResult } from "../../engine/jobs/jobs.ts";
import { MINUTE_MS } from "../../kernel/durations.ts";
import { KeysteadError } from "../../kernel/errors.ts";
import { MAX_CONNECTIONS_PER_HOST } from "../../kernel/limits.ts";
import type { Reader, Transactor } from "../../storage/engine.ts";
import type { SentTransaction } from "./store.ts";

/** Shared by the jobs that follow sent transactions on all chains. */

type Open = Pick<SentTransaction, "createdAt">;

/** The pause when no node answers ... */
const AWAY_PAUSE_MS = 2000;
/** ... and after an internal error. */
const FAULT_PAUSE_MS = 10_000;
/** The pause between two rounds is the age of the youngest transaction, but at most this, ... */
const USUAL_PAUSE_MS = 2000;
/** ... and longer for very old transactions: this part of their age, ... */
const PART_OF_AGE = 1 / 100;
/** ... up to this. */
const LONGEST_PAUSE_MS = MINUTE_MS;
/** Lanes whose last round failed in this process, so that this is logged only once. Cleared when it grows too large. */
const failing = new Set<string>();
const MAX_FAILING = 10_000;

/** Milliseconds between two rounds; `youngestMs` is the age of the youngest transaction. */
export function pauseFor(youngestMs: number, shortestMs: number): number {
  const usual = Math.min(USUAL_PAUSE_MS, Math.max(shortestMs, youngestMs));
  return Math.max(usual, Math.min(LONGEST_PAUSE_MS, youngestMs * PART_OF_AGE));
}

interface Following<One extends Open> {
  context: Pick<JobContext<object>, "payload" | "database" | "clock" | "log">;
  /** Identifies the job. */
  lane: string;
  /** Runs one round, which advances all transactions that it can. Resolves to whether more can be done immediately. */
  look: () => Promise<boolean>;
  /** The transactions that have not ended, with the members that the pause depends on. */
  openOf: (read: Reader) => Promise<readonly One[]>;
  /** From when a transaction counts as in flight, if not from its creation; milliseconds. */
  since?: (one: One) => number;
  /** Milliseconds until the next round; `youngestMs` is the age of the youngest transaction. */
  pauseAfter: (left: readonly One[], youngestMs: number) => number;
  enqueue: (tx: Transactor, now: number) => Promise<void>;
}

/** Runs one round and schedules the next. The job ends when nothing is left to follow. */
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
    // A pause does not count as an attempt, so it stays short no matter how old the transactions are.
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
    // A transaction that was committed while this job still existed did not queue another one, so check again here.
    record: async (tx) => {
      if ((await openOf(tx)).length > 0) await enqueue(tx, clock());
    },
  };
}

/** Runs `act` for all items, as many at a time as a node allows connections. Errors are added to `problems` and do not stop the others. */
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
