import { fail, KeysteadError } from "../kernel/errors.ts";
import { COMMIT_DEADLINE_MS } from "../kernel/limits.ts";
import { onceATurn } from "../kernel/once-a-turn.ts";
import { inSpan, type Span } from "../kernel/spans.ts";
import type { AheadReader, Transactor } from "./engine.ts";
import { DatabaseFailure, type FailureKind } from "./failure.ts";
import { OutagePatience } from "./outage.ts";

const MAX_BATCH = 64;
const MAX_TRIES = 5;
/** So many scopes share a transaction before another one is opened beside it. */
const LEAST_SCOPES = 8;
/** After so long a transaction of several scopes begins nothing more: each keeps the others waiting. */
const SEVERAL_SCOPES_MS = 20;
/** So many transactions take savepoints after one that had to be run again for want of them: nobody can have many of them run twice. */
const CAREFUL_TRANSACTIONS = 64;

/** Something to do once a commit is durable. It must not throw. */
export type AfterCommit = () => void;

/** A transaction on one connection, in the words both databases share. */
export interface OpenTransaction {
  /**
   * A figure that every write changes, where that is known: a function that fails before it wrote has nothing to be undone. Where it is
   * absent each function has its savepoint.
   */
  written?(): number;
  /** Whether the scope was locked for it, where it is not all that were asked for. */
  isHeld?(scope: string): boolean;
  /** `isAtOnce`: it is made even if the function will have written nothing. `isLast`: no other function comes after it. */
  savepoint(next: { isAtOnce: boolean; isLast: boolean }): Promise<void>;
  release(): Promise<void>;
  /** @throws HalfDone where there is none to go back to */
  rollbackToSavepoint(): Promise<void>;
  commit(): Promise<void>;
  /** Ends the transaction without its writes and gives the connection back; never throws. `reason` is what went wrong. */
  rollback(reason: unknown): Promise<void>;
  /** A fresh handle for one function, with what it asked for after the commit; `end` makes it refuse further work. */
  transactor(): { tx: Transactor; afterCommit: readonly AfterCommit[]; end: () => void };
}

/** Asks for what a function is going to ask for; all that it asks before it returns leaves at once. Nobody hears its answer; it ends when nothing more comes to be known by it. */
export type Prefetch = (read: AheadReader) => Promise<unknown>;

/** How a function may run. */
export interface RunOptions {
  ahead?: Prefetch;
  /** Whether functions of other scopes may run in the same transaction: it is short, and its order among those of others does not count. */
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
  /** While it runs: has it go on no longer. */
  giveUp: ((error: unknown) => void) | undefined;
}

/** Is told what becomes of transactions; it must not throw. */
export interface CommitObserver {
  /** One is open, for which a scope had to be locked; `seconds` is how long that took. */
  locked(seconds: number): void;
  /** One is durable, with so many functions in it, so long after it was begun. */
  committed(functions: number, seconds: number): void;
  /** One was lost as a whole, be it tried again or not. */
  failed(kind: FailureKind): void;
}

interface GroupCommitOptions {
  /** How many transactions may be open at once. */
  concurrency: number;
  scopes: "exclusive" | "together";
  /**
   * Waits for the first scope, and takes of the others those that nobody holds. `isAgain` of a transaction that was lost before; `ahead` of
   * the functions that will run in it.
   */
  begin: (scopes: readonly string[], isAgain: boolean, ahead: readonly Prefetch[]) => Promise<OpenTransaction>;
  /** After so long a batch begins nothing more; what it has not begun is in the next one. */
  batchMs?: number;
  /** Told of whole transactions that were given up because of the database. */
  onFailure?: (failure: DatabaseFailure) => void;
  observer?: CommitObserver | undefined;
  /** Milliseconds of a clock that never goes back. */
  now?: () => number;
}
type Outcome = { value: unknown; afterCommit: readonly AfterCommit[] } | { error: unknown };

/**
 * Group commit: functions that wait at the same time run one after the other in one database transaction, and are told so only
 * after that transaction's commit is durable. One that throws is rolled back alone: to its savepoint, or, where nothing fails as
 * a rule and savepoints would cost more, by running the others again.
 *
 * `concurrency` transactions may be open at once. With `scopes: "exclusive"` no two open transactions have the same scope, and `begin` is told
 * which scopes to lock against other processes; functions without a scope run in any. A batch holds functions of one scope, or shared ones of
 * several. It never waits for a scope while it has one of several: what is locked elsewhere runs in another transaction, and a function that
 * would have to wait for a further one is undone and runs in one of its own. With `scopes: "together"` (one writer anyway) a batch takes what
 * waits, of each scope in turn.
 */
export class GroupCommit {
  readonly #options: GroupCommitOptions;
  readonly #patience = new OutagePatience();
  #waiting: Waiting[] = [];
  readonly #runningScopes = new Set<string>();
  /** Whom nobody has told yet, the earliest deadline first, and the timer of that one. */
  readonly #untold = new Set<Waiting>();
  #deadline: NodeJS.Timeout | undefined;
  /** How many transactions are still to take savepoints. */
  #careful = 0;
  #openTransactions = 0;
  /** At the end of the turn of the event loop, so that requests that arrive together commit together. */
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

  /** Runs `work` in a transaction and resolves after its durable commit. It may be run again after a serialization failure. */
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
          if (!this.#untold.delete(item)) return;
          if (this.#untold.size === 0) this.#stopWatching();
          if ("value" in outcome) resolve(outcome.value as T);
          else reject(outcome.error);
        },
      };
      this.#untold.add(item);
      this.#deadline ??= setTimeout(() => this.#endLate(), COMMIT_DEADLINE_MS);
      this.#waiting.push(item);
      void this.#beginSoon();
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

  #now(): number {
    return this.#options.now?.() ?? performance.now();
  }

  /** Whatever holds it up, a hanging database among it: who waits is told in time, and may send the request again. */
  #endLate(): void {
    this.#deadline = undefined;
    const now = this.#now();
    for (const item of this.#untold) {
      if (item.deadline > now) {
        this.#deadline = setTimeout(() => this.#endLate(), item.deadline - now);
        break;
      }
      const error = deadlineError();
      item.settle({ error });
      item.giveUp?.(error);
    }
    this.#waiting = this.#waiting.filter((item) => this.#untold.has(item));
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

  /** What may run in one transaction with the first that may run, each scope's in their order. */
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
        // Before whoever waits goes on, and apart from them: the commit is there, whatever comes of these.
        if ("value" in outcome) for (const follow of outcome.afterCommit) queueMicrotask(follow);
      }
      for (const [item, outcome] of outcomes) item.settle(outcome);
      // Whom the batch had no time or no lock for is in the next one.
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
          // With savepoints it hardly happens again.
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
   * One transaction, of those of a batch whose scope is held, as far as its time goes. It throws when the transaction as a whole is lost; a single
   * function's error is its own outcome.
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

  /** Resolves to nothing where it is to run in another transaction. */
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
      // What still runs of it must write nothing after the rollback.
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

/** Of those of one scope, what comes before the first that shares with nobody: that one is not passed over. */
function beforeUnshared(some: readonly Waiting[]): readonly Waiting[] {
  const end = some.findIndex(({ isShared }) => !isShared);
  return end === -1 ? some : some.slice(0, end);
}

/** Those of each scope in turn, so that many of one scope do not keep those of others waiting. */
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

/** A function that runs in the transaction of many, in the span of whoever waits for it. */
function withinSpan<T>(span: Span, work: (tx: Transactor) => Promise<T>): (tx: Transactor) => Promise<T> {
  const askedAt = performance.now();
  return (tx) => {
    span.note({ "keystead.waited_ms": performance.now() - askedAt });
    return span.run(() => work(tx));
  };
}

/** A function wants a scope that another transaction holds, in one of several scopes, which waits for none. */
export class ScopeTaken extends DatabaseFailure {
  constructor() {
    super("retry", "a further scope is locked");
  }
}

/** A function failed, and there is no savepoint before what it did. */
export class HalfDone extends DatabaseFailure {
  constructor(cause: unknown = "a function that had written failed") {
    super("retry", cause);
  }
}

/** A connection that is lost under a commit leaves open whether it happened: the caller may ask again, nobody else. */
function withoutRepetition(error: unknown): unknown {
  if (!(error instanceof DatabaseFailure) || error.kind !== "outage") return error;
  return new DatabaseFailure("unavailable", error.cause, error.reason);
}

/** A function that hangs must not hold the others of its batch. */
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
