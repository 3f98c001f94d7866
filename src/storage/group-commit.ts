import { fail, KeysteadError } from "../kernel/errors.ts";
import { COMMIT_DEADLINE_MS } from "../kernel/limits.ts";
import type { Transactor } from "./engine.ts";
import { DatabaseFailure } from "./failure.ts";
import { OutagePatience } from "./outage.ts";

const MAX_BATCH = 64;
const MAX_TRIES = 5;

/** Something to do once a commit is durable. It must not throw. */
export type AfterCommit = () => void;

/** A transaction on one connection, in the words both databases share. */
export interface OpenTransaction {
  savepoint(): Promise<void>;
  release(): Promise<void>;
  rollbackToSavepoint(): Promise<void>;
  commit(): Promise<void>;
  /** Ends the transaction without its writes and gives the connection back; never throws. `reason` is what went wrong. */
  rollback(reason: unknown): Promise<void>;
  /** A fresh handle for one function, with what it asked for after the commit; `end` makes it refuse further work. */
  transactor(): { tx: Transactor; afterCommit: readonly AfterCommit[]; end: () => void };
}

interface Waiting {
  scope: string | undefined;
  work: (tx: Transactor) => Promise<unknown>;
  settle: (outcome: Outcome) => void;
  deadline: number;
}
interface GroupCommitOptions {
  /** How many transactions may be open at once. */
  concurrency: number;
  scopes: "exclusive" | "together";
  begin: (scope: string | undefined) => Promise<OpenTransaction>;
  /** After so long a batch begins nothing more; what it has not begun is in the next one. */
  batchMs?: number;
  /** Told of whole transactions that were given up because of the database. */
  onFailure?: (failure: DatabaseFailure) => void;
}
type Outcome = { value: unknown; afterCommit: readonly AfterCommit[] } | { error: unknown };

/**
 * Group commit: functions that wait at the same time run one after the other in one database transaction, each in its own
 * savepoint, and are told so only after that transaction's commit is durable. One that throws is rolled back alone.
 *
 * `concurrency` transactions may be open at once. With `scopes: "exclusive"` a batch holds functions of one scope only, no two open
 * transactions have the same scope, and `begin` is told which scope to lock against other processes; functions without a scope run
 * in any. With `scopes: "together"` (one writer anyway) a batch takes what waits, of each scope in turn.
 */
export class GroupCommit {
  readonly #options: GroupCommitOptions;
  readonly #patience = new OutagePatience();
  #waiting: Waiting[] = [];
  readonly #runningScopes = new Set<string>();
  #openTransactions = 0;
  #scheduled = false;
  #closed = false;
  #idle: (() => void)[] = [];

  constructor(options: GroupCommitOptions) {
    this.#options = options;
  }

  /** Runs `work` in a transaction and resolves after its durable commit. It may be run again after a serialization failure. */
  run<T>(scope: string | undefined, work: (tx: Transactor) => Promise<T>): Promise<T> {
    if (this.#closed) return Promise.reject(new KeysteadError("SHUTTING_DOWN", {}, []));
    return new Promise<T>((resolve, reject) => {
      // Whatever holds it up, a hanging database among it: who waits is told in time, and may send the request again.
      const timer = setTimeout(() => {
        this.#waiting = this.#waiting.filter((other) => other !== item);
        reject(deadlineError());
      }, COMMIT_DEADLINE_MS);
      const item: Waiting = {
        scope,
        work,
        deadline: Date.now() + COMMIT_DEADLINE_MS,
        settle: (outcome) => {
          clearTimeout(timer);
          if ("value" in outcome) resolve(outcome.value as T);
          else reject(outcome.error);
        },
      };
      this.#waiting.push(item);
      this.#schedule();
    });
  }

  /** Resolves when nothing waits or runs; new work is refused from now on. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#patience.end();
    while (this.#openTransactions > 0 || this.#waiting.length > 0) {
      await new Promise<void>((resolve) => this.#idle.push(resolve));
    }
  }

  // The next turn of the event loop, so that requests that arrive together commit together.
  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      while (this.#openTransactions < this.#options.concurrency) {
        const batch = this.#takeBatch();
        if (batch.length === 0) break;
        void this.#runInTransaction(batch);
      }
    });
  }

  #takeBatch(): Waiting[] {
    if (this.#options.scopes === "together") return this.#takeInTurns();
    const first = this.#waiting.find(({ scope }) => scope === undefined || !this.#runningScopes.has(scope));
    if (!first) return [];
    const batch: Waiting[] = [];
    const rest: Waiting[] = [];
    for (const item of this.#waiting) {
      (item.scope === first.scope && batch.length < MAX_BATCH ? batch : rest).push(item);
    }
    this.#waiting = rest;
    return batch;
  }

  /** Those of each scope in turn, so that many of one scope do not keep those of others waiting. */
  #takeInTurns(): Waiting[] {
    if (this.#waiting.length <= MAX_BATCH) return this.#waiting.splice(0);
    const ahead = new Map<string | undefined, number>();
    const rounds: Waiting[][] = [];
    for (const item of this.#waiting) {
      const round = ahead.get(item.scope) ?? 0;
      ahead.set(item.scope, round + 1);
      rounds[round] ??= [];
      rounds[round].push(item);
    }
    const batch = rounds.flat().slice(0, MAX_BATCH);
    const taken = new Set(batch);
    this.#waiting = this.#waiting.filter((item) => !taken.has(item));
    return batch;
  }

  async #runInTransaction(batch: Waiting[]): Promise<void> {
    const scope = this.#options.scopes === "exclusive" ? batch[0]?.scope : undefined;
    this.#openTransactions++;
    if (scope !== undefined) this.#runningScopes.add(scope);
    try {
      await this.#runBatch(scope, batch);
    } finally {
      this.#openTransactions--;
      if (scope !== undefined) this.#runningScopes.delete(scope);
      if (this.#waiting.length > 0) this.#schedule();
      const idle = this.#idle;
      this.#idle = [];
      for (const wake of idle) wake();
    }
  }

  async #runBatch(scope: string | undefined, batch: Waiting[]): Promise<void> {
    try {
      const outcomes = await this.#patience.through(() => this.#attemptOften(scope, batch));
      for (const [, outcome] of outcomes) {
        // Before whoever waits goes on, and apart from them: the commit is there, whatever comes of these.
        if ("value" in outcome) for (const follow of outcome.afterCommit) queueMicrotask(follow);
      }
      for (const [item, outcome] of outcomes) item.settle(outcome);
      // Whom the batch had no time for is in the next one.
      this.#waiting.unshift(...batch.slice(outcomes.length));
    } catch (error) {
      if (error instanceof DatabaseFailure) this.#options.onFailure?.(error);
      for (const item of batch) item.settle({ error });
    }
  }

  async #attemptOften(scope: string | undefined, batch: Waiting[]): Promise<[Waiting, Outcome][]> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#attempt(scope, batch);
      } catch (error) {
        const retry = error instanceof DatabaseFailure && error.kind === "retry" && attempt < MAX_TRIES;
        if (!retry) throw error;
      }
    }
  }

  /** One transaction, of the first of a batch as far as its time goes. It throws when the transaction as a whole is lost; a single function's error is its own outcome. */
  async #attempt(scope: string | undefined, batch: Waiting[]): Promise<[Waiting, Outcome][]> {
    const transaction = await this.#options.begin(scope);
    const outcomes: [Waiting, Outcome][] = [];
    let committing = false;
    try {
      const end = performance.now() + (this.#options.batchMs ?? Number.POSITIVE_INFINITY);
      for (const item of batch) {
        if (outcomes.length > 0 && performance.now() >= end) break;
        outcomes.push([item, await this.#runOne(transaction, item)]);
      }
      committing = true;
      await transaction.commit();
      return outcomes;
    } catch (error) {
      await transaction.rollback(error);
      throw committing ? withoutRepetition(error) : error;
    }
  }

  async #runOne(transaction: OpenTransaction, item: Waiting): Promise<Outcome> {
    const remainingMs = item.deadline - Date.now();
    if (remainingMs <= 0) return { error: deadlineError() };
    await transaction.savepoint();
    const { tx, afterCommit, end } = transaction.transactor();
    try {
      const value = await withinDeadline(item.work(tx), remainingMs);
      await transaction.release();
      return { value, afterCommit };
    } catch (error) {
      if (error instanceof DatabaseFailure && error.kind !== "bug") throw error;
      await transaction.rollbackToSavepoint();
      return { error };
    } finally {
      end();
    }
  }
}

/** A connection that is lost under a commit leaves open whether it happened: the caller may ask again, nobody else. */
function withoutRepetition(error: unknown): unknown {
  if (!(error instanceof DatabaseFailure) || error.kind !== "outage") return error;
  return new DatabaseFailure("unavailable", error.cause, error.reason);
}

/** A function that hangs must not hold the others of its batch. */
async function withinDeadline<T>(work: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(deadlineError()), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

function deadlineError(): unknown {
  try {
    fail("DEADLINE_EXCEEDED", { limit: `${COMMIT_DEADLINE_MS / 1000} s` });
  } catch (error) {
    return error;
  }
}
