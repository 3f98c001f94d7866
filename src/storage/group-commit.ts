import { fail, KeysteadError } from "../kernel/errors.ts";
import { COMMIT_DEADLINE_MS } from "../kernel/limits.ts";
import { onceATurn } from "../kernel/once-a-turn.ts";
import { Slot } from "../kernel/slot.ts";
import { inSpan, type Span } from "../kernel/spans.ts";
import type { AheadReader, Transactor } from "./engine.ts";
import { DatabaseFailure, type FailureKind } from "./failure.ts";
import { OutagePatience } from "./outage.ts";

const MAX_BATCH = 64;
const MAX_TRIES = 5;
/** A transaction takes at least this many scopes before another transaction is opened in parallel. */
const LEAST_SCOPES = 8;
/** A transaction of several scopes starts no further function after this time, because its scopes delay each other. */
const SEVERAL_SCOPES_MS = 20;
/**
 * After a transaction had to run again because it had no savepoint, this many transactions use savepoints. Otherwise a client could make
 * many of them run twice.
 */
const CAREFUL_TRANSACTIONS = 64;

/** Called once a commit is durable. It must not throw. */
export type AfterCommit = () => void;

/** A transaction on one connection, behind an interface that both databases share. */
export interface OpenTransaction {
  /**
   * A number that changes with every write. It shows whether a failed function wrote anything that must be undone. If absent, each function
   * runs in a savepoint.
   */
  written?(): number;
  /** Whether the transaction holds the lock of the scope. If absent, it holds all requested ones. */
  isHeld?(scope: string): boolean;
  /** `isAtOnce`: make the savepoint even if the function turns out to write nothing. `isLast`: no function follows. */
  savepoint(next: { isAtOnce: boolean; isLast: boolean }): Promise<void>;
  release(): Promise<void>;
  /** @throws HalfDone if there is no savepoint */
  rollbackToSavepoint(): Promise<void>;
  commit(): Promise<void>;
  /** Rolls back and returns the connection; never throws. `reason` is the error that caused it. */
  rollback(reason: unknown): Promise<void>;
  /** A new handle for one function, and the callbacks it registered for after the commit. `end` makes the handle reject further work. */
  transactor(): { tx: Transactor; afterCommit: readonly AfterCommit[]; end: () => void };
}

/**
 * Sends the queries that a function will need; all queries that it makes before it returns are sent together. Its result is ignored. It
 * resolves once everything that it makes known is known.
 */
export type Prefetch = (read: AheadReader) => Promise<unknown>;

/** How a function may run. */
export interface RunOptions {
  ahead?: Prefetch;
  /**
   * Whether it may share a transaction with functions of other scopes. Set it for short functions whose order relative to other scopes does
   * not matter.
   */
  isShared?: boolean;
}

interface Waiting {
  scope: string | undefined;
  work: (tx: Transactor) => Promise<unknown>;
  ahead: Prefetch | undefined;
  isShared: boolean;
  settle: (outcome: Outcome) => void;
  /** By the clock of the options. */
  deadline: number;
  /** While the function runs: abandons it. */
  giveUp: ((error: unknown) => void) | undefined;
}

/** Notified of the outcome of transactions; must not throw. */
export interface CommitObserver {
  /** A transaction that locks scopes was opened; `seconds` is how long that took. */
  locked(seconds: number): void;
  /** A transaction became durable: its number of functions, and the seconds since it began. */
  committed(functions: number, seconds: number): void;
  /** A whole transaction failed, whether or not it is retried. */
  failed(kind: FailureKind): void;
}

interface GroupCommitOptions {
  /** How many transactions may be open at once. */
  concurrency: number;
  scopes: "exclusive" | "together";
  /**
   * Waits for the lock of the first scope, and locks those of the others that are free. `isAgain`: the transaction failed before. `ahead`:
   * the prefetches of the functions that will run in it.
   */
  begin: (scopes: readonly string[], isAgain: boolean, ahead: readonly Prefetch[]) => Promise<OpenTransaction>;
  /** A batch starts no further function after this time; the remaining ones run in the next batch. */
  batchMs?: number;
  /** Called when a whole transaction failed because of the database. */
  onFailure?: (failure: DatabaseFailure) => void;
  observer?: CommitObserver | undefined;
  /** Milliseconds of a monotonic clock. */
  now?: () => number;
}
type Outcome = { value: unknown; afterCommit: readonly AfterCommit[] } | { error: unknown };

/**
 * Group commit: functions that are waiting at the same time run one after the other in one database transaction, and each resolves only
 * after the commit of that transaction is durable. A function that throws is rolled back without the others: to its savepoint or, while
 * failures are rare and savepoints would cost more, by running the others again.
 *
 * `concurrency` transactions may be open at once. With `scopes: "exclusive"` no two open transactions share a scope, and `begin` locks the
 * scopes against other processes; functions without a scope run in any transaction. A batch contains functions of one scope, or shared
 * functions of several scopes. In a batch of several scopes it waits only for the first; functions of scopes that are locked elsewhere run
 * in another transaction, and a function that needs a further, locked scope is undone and runs in a transaction of its own. With
 * `scopes: "together"` (for a single writer) a batch takes all waiting functions, round-robin by scope.
 */
export class GroupCommit {
  readonly #options: GroupCommitOptions;
  readonly #patience = new OutagePatience();
  #waiting: Waiting[] = [];
  readonly #runningScopes = new Set<string>();
  /** Functions whose callers have no answer yet, the earliest deadline first; and the timer of that deadline. */
  readonly #untold = new Set<Slot<Waiting>>();
  #deadline: NodeJS.Timeout | undefined;
  /** How many more transactions use savepoints. */
  #careful = 0;
  #openTransactions = 0;
  /** Runs at the end of the turn of the event loop, so that requests that arrive together commit together. */
  readonly #beginSoon = onceATurn(() => this.#begin());
  #closed = false;
  #idle: (() => void)[] = [];

  constructor(options: GroupCommitOptions) {
    this.#options = options;
  }

  /** How many functions wait for a transaction. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** Runs `work` in a transaction and resolves after its durable commit. `work` may run again, for example after a serialization failure. */
  run<T>(scope: string | undefined, work: (tx: Transactor) => Promise<T>, options: RunOptions = {}): Promise<T> {
    if (this.#closed) return Promise.reject(new KeysteadError("SHUTTING_DOWN", {}, []));
    return inSpan("commit", (span) => this.#queue(scope, span ? withinSpan(span, work) : work, options));
  }

  #queue<T>(
    scope: string | undefined,
    work: (tx: Transactor) => Promise<T>,
    { ahead, isShared = false }: RunOptions,
  ): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const item: Waiting = {
        scope,
        work,
        ahead,
        isShared: isShared && scope !== undefined,
        deadline: this.#now() + COMMIT_DEADLINE_MS,
        giveUp: undefined,
        settle: (outcome) => {
          if (!this.#untold.delete(untold)) return;
          untold.take();
          if (this.#untold.size === 0) this.#stopWatching();
          if ("value" in outcome) resolve(outcome.value as T);
          else reject(outcome.error);
        },
      };
      const untold = new Slot(item);
      this.#untold.add(untold);
      this.#deadline ??= setTimeout(() => this.#endLate(), COMMIT_DEADLINE_MS);
      this.#waiting.push(item);
      void this.#beginSoon();
    });
  }

  /** Resolves when nothing waits or runs; new work is rejected from now on. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#patience.end();
    while (this.#openTransactions > 0 || this.#waiting.length > 0) {
      await new Promise<void>((resolve) => this.#idle.push(resolve));
    }
  }

  #now(): number {
    return this.#options.now?.() ?? performance.now();
  }

  /** Rejects functions whose deadline has passed, whatever delays them, even a hanging database. The client may retry the request. */
  #endLate(): void {
    this.#deadline = undefined;
    const now = this.#now();
    for (const { held: item } of this.#untold) {
      if (!item) continue;
      if (item.deadline > now) {
        this.#deadline = setTimeout(() => this.#endLate(), item.deadline - now);
        break;
      }
      const error = deadlineError();
      item.settle({ error });
      item.giveUp?.(error);
    }
    this.#waiting = this.#waiting.filter((item) => item.deadline > now);
  }

  #stopWatching(): void {
    clearTimeout(this.#deadline);
    this.#deadline = undefined;
  }

  #begin(): void {
    while (this.#openTransactions < this.#options.concurrency) {
      const batch = this.#takeBatch();
      if (batch.length === 0) break;
      void this.#runInTransaction(batch);
    }
  }

  #takeBatch(): Waiting[] {
    const fitting = this.#options.scopes === "together" ? this.#waiting : this.#fitting();
    const batch = new Set(inTurns(fitting).slice(0, MAX_BATCH));
    this.#waiting = this.#waiting.filter((item) => !batch.has(item));
    return [...batch];
  }

  /** The functions that may share a transaction with the first that may run, in order within each scope. */
  #fitting(): readonly Waiting[] {
    const isFree = ({ scope }: Waiting) => scope === undefined || !this.#runningScopes.has(scope);
    const first = this.#waiting.find(isFree);
    if (!first) return [];
    if (!first.isShared) return this.#waiting.filter(({ scope }) => scope === first.scope);
    const byScope = Map.groupBy(this.#waiting.filter(isFree), ({ scope }) => scope);
    const shared = [...byScope.values()].map(beforeUnshared).filter((some) => some.length > 0);
    const slots = this.#options.concurrency - this.#openTransactions;
    return shared.slice(0, Math.max(LEAST_SCOPES, Math.ceil(shared.length / slots))).flat();
  }

  async #runInTransaction(batch: Waiting[]): Promise<void> {
    const named = batch.map(({ scope }) => scope).filter((scope) => scope !== undefined);
    const scopes = this.#options.scopes === "exclusive" ? [...new Set(named)] : [];
    this.#openTransactions++;
    for (const scope of scopes) this.#runningScopes.add(scope);
    try {
      await this.#runBatch(scopes, batch);
    } finally {
      this.#openTransactions--;
      for (const scope of scopes) this.#runningScopes.delete(scope);
      if (this.#waiting.length > 0) void this.#beginSoon();
      const idle = this.#idle;
      this.#idle = [];
      for (const wake of idle) wake();
    }
  }

  async #runBatch(scopes: readonly string[], batch: Waiting[]): Promise<void> {
    try {
      const outcomes = await this.#patience.through(() => this.#attemptOften(scopes, batch));
      for (const [, outcome] of outcomes) {
        // Called before the callers continue, and separately: the commit stands, whatever happens in the callbacks.
        if ("value" in outcome) for (const follow of outcome.afterCommit) queueMicrotask(follow);
      }
      for (const [item, outcome] of outcomes) item.settle(outcome);
      // Functions for which the batch had no time or no lock run in the next one.
      this.#waiting.unshift(...batch.filter((item) => !outcomes.has(item)));
    } catch (error) {
      if (error instanceof DatabaseFailure) this.#options.onFailure?.(error);
      for (const item of batch) item.settle({ error });
    }
  }

  async #attemptOften(scopes: readonly string[], batch: Waiting[]): Promise<Map<Waiting, Outcome>> {
    let wasHalfDone = false;
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#attempt(scopes, batch, attempt > 1 || wasHalfDone);
      } catch (error) {
        if (error instanceof HalfDone) {
          this.#careful = CAREFUL_TRANSACTIONS;
          // With savepoints this rarely happens again.
          if (!wasHalfDone) {
            wasHalfDone = true;
            attempt--;
            continue;
          }
        }
        const retry = error instanceof DatabaseFailure && error.kind === "retry" && attempt < MAX_TRIES;
        if (!retry) throw error;
      }
    }
  }

  /**
   * Runs one transaction with those functions of a batch whose scope is locked, until its time is up. Throws if the whole transaction
   * fails; an error of a single function is the outcome of that function.
   */
  async #attempt(
    scopes: readonly string[],
    batch: readonly Waiting[],
    isAgain: boolean,
  ): Promise<Map<Waiting, Outcome>> {
    const { observer } = this.#options;
    const begunAt = performance.now();
    const secondsSince = () => (performance.now() - begunAt) / 1000;
    const prefetches = batch.map(({ ahead }) => ahead).filter((ahead) => ahead !== undefined);
    const transaction = await this.#options.begin(scopes, isAgain, prefetches).catch((error: unknown) => {
      this.#tellFailed(error);
      throw error;
    });
    if (scopes.length > 0) observer?.locked(secondsSince());
    const wasHalfDone = this.#careful > 0;
    const isCareful = transaction.written === undefined || wasHalfDone;
    if (wasHalfDone) this.#careful--;
    const outcomes = new Map<Waiting, Outcome>();
    let committing = false;
    try {
      const ms = scopes.length > 1 ? SEVERAL_SCOPES_MS : (this.#options.batchMs ?? Number.POSITIVE_INFINITY);
      const end = performance.now() + ms;
      const held = batch.filter(({ scope }) => scope === undefined || (transaction.isHeld?.(scope) ?? true));
      for (const item of held) {
        if (outcomes.size > 0 && performance.now() >= end) break;
        const next = { isCareful, isAtOnce: wasHalfDone, isLast: item === held.at(-1) };
        const outcome = await this.#runOne(transaction, item, next);
        if (outcome) outcomes.set(item, outcome);
      }
      committing = true;
      await transaction.commit();
      observer?.committed(outcomes.size, secondsSince());
      return outcomes;
    } catch (error) {
      this.#tellFailed(error);
      await transaction.rollback(error);
      throw committing ? withoutRepetition(error) : error;
    }
  }

  #tellFailed(error: unknown): void {
    this.#options.observer?.failed(error instanceof DatabaseFailure ? error.kind : "bug");
  }

  /** Resolves to undefined if the function must run in another transaction. */
  async #runOne(
    transaction: OpenTransaction,
    item: Waiting,
    { isCareful, ...next }: { isCareful: boolean; isAtOnce: boolean; isLast: boolean },
  ): Promise<Outcome | undefined> {
    if (item.deadline <= this.#now()) return { error: deadlineError() };
    if (isCareful) await transaction.savepoint(next);
    const writtenBefore = transaction.written?.();
    const { tx, afterCommit, end } = transaction.transactor();
    try {
      const value = await untilGivenUp(item, tx);
      if (isCareful) await transaction.release();
      return { value, afterCommit };
    } catch (error) {
      // If the function is still running, it must write nothing after the rollback.
      end();
      if (error instanceof ScopeTaken) {
        await transaction.rollbackToSavepoint();
        item.isShared = false;
        return undefined;
      }
      if (error instanceof DatabaseFailure && error.kind !== "bug") throw error;
      if (isCareful) await transaction.rollbackToSavepoint();
      else if (transaction.written?.() !== writtenBefore) throw new HalfDone();
      return { error };
    } finally {
      item.giveUp = undefined;
      end();
    }
  }
}

/** The functions of one scope that precede the first one that is not shared, which keeps its place in the order. */
function beforeUnshared(some: readonly Waiting[]): readonly Waiting[] {
  const end = some.findIndex(({ isShared }) => !isShared);
  return end === -1 ? some : some.slice(0, end);
}

/** Round-robin by scope, so that many functions of one scope do not delay the others. */
function inTurns(waiting: readonly Waiting[]): readonly Waiting[] {
  if (waiting.length <= MAX_BATCH) return waiting;
  const ahead = new Map<string | undefined, number>();
  const rounds: Waiting[][] = [];
  for (const item of waiting) {
    const round = ahead.get(item.scope) ?? 0;
    ahead.set(item.scope, round + 1);
    rounds[round] ??= [];
    rounds[round].push(item);
  }
  return rounds.flat();
}

/** Runs a function within the span of its caller, although it runs in the transaction of many. */
function withinSpan<T>(span: Span, work: (tx: Transactor) => Promise<T>): (tx: Transactor) => Promise<T> {
  const askedAt = performance.now();
  return (tx) => {
    span.note({ "keystead.waited_ms": performance.now() - askedAt });
    return span.run(() => work(tx));
  };
}

/** A function in a transaction of several scopes, which never waits for locks, needs a scope that another transaction holds. */
export class ScopeTaken extends DatabaseFailure {
  constructor() {
    super("retry", "a further scope is locked");
  }
}

/** A function failed after writing, and there is no savepoint to go back to. */
export class HalfDone extends DatabaseFailure {
  constructor(cause: unknown = "a function that had written failed") {
    super("retry", cause);
  }
}

/** If the connection is lost during a commit, the outcome is unknown. Only the caller may retry, so this is not reported as an outage. */
function withoutRepetition(error: unknown): unknown {
  if (!(error instanceof DatabaseFailure) || error.kind !== "outage") return error;
  return new DatabaseFailure("unavailable", error.cause, error.reason);
}

/** Rejects when the function is abandoned, so that a function that hangs does not hold up its batch. */
const untilGivenUp = (item: Waiting, tx: Transactor): Promise<unknown> =>
  new Promise((resolve, reject) => {
    item.giveUp = reject;
    item.work(tx).then(resolve, reject);
  });

function deadlineError(): unknown {
  try {
    fail("DEADLINE_EXCEEDED", { limit: `${COMMIT_DEADLINE_MS / 1000} s` });
  } catch (error) {
    return error;
  }
}
