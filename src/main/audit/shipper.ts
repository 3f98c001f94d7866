import { setTimeout as startTimer } from "node:timers";
import { setTimeout } from "node:timers/promises";
import { type BackOff, backOffMs } from "../../kernel/back-off.ts";
import type { Clock } from "../../kernel/clock.ts";
import { KeysteadError } from "../../kernel/errors.ts";
import {
  AUDIT_ATTEMPT_MS,
  AUDIT_BATCH,
  AUDIT_GATHER_MS,
  AUDIT_LOOK_MS,
  AUDIT_RETRY_MS,
  AUDIT_STOP_MS,
  LARGE_AUDIT_BACKLOG,
  LARGE_AUDIT_BACKLOG_LOOK_MS,
} from "../../kernel/limits.ts";
import type { Logger } from "../../kernel/log.ts";
import { NowAndThen } from "../../kernel/now-and-then.ts";
import type { Database } from "../../storage/database.ts";
import { DatabaseFailure } from "../../storage/failure.ts";
import { Memory } from "./memory.ts";
import { countLines, leaseSink, nextLines, removeLines } from "./queue.ts";
import type { SinkName } from "./settings.ts";
import { type Sink, SinkFailure } from "./sink.ts";

export interface ShipperOptions {
  name: SinkName;
  sink: Sink;
  database: Pick<Database, "read" | "transact">;
  /** Identifies this server among all on the database. */
  owner: string;
  /** How long a server that has died can prevent others from taking over. */
  leaseMs: number;
  maxBacklog: number;
  clock: Clock;
  log: Logger;
}

/** Lines that wait longer than this many leases need attention. */
const LATE_LEASES = 4;
const BACK_OFF: BackOff = { firstMs: 250, longestMs: AUDIT_RETRY_MS, spread: 1 / 2 };

/**
 * Delivers lines to one sink: those in the database, if this server holds the sink's lease, and those in its own memory. It sends one batch at a
 * time to keep the order of lines, and retries a failed batch until it is delivered.
 */
export class Shipper {
  readonly name: SinkName;
  readonly memory = new Memory();
  readonly #options: ShipperOptions;
  readonly #attemptMs: number;
  /** A separate scope, so that waiting for the lease does not delay activities that are committed without a scope. */
  readonly #scope: string;
  #leasedUntil = 0;
  // Pauses use a monotonic clock, because setting the system clock could make them last for hours.
  /** Another server holds the lease; this one does not try to take it again before this time. */
  #elsewhereUntil = Number.NEGATIVE_INFINITY;
  #backlog = 0;
  #oldest: number | undefined;
  #countedAt = Number.NEGATIVE_INFINITY;
  #failing: { reason: string; since: number; attempts: number; notBefore: number } | undefined;
  readonly #log = new NowAndThen();
  #delivered = 0;
  #failures = 0;
  #dropped = 0;
  #stopping = false;
  #isWoken = false;
  #wake: () => void = () => {};
  #running: Promise<void> = Promise.resolve();

  constructor(options: ShipperOptions) {
    this.name = options.name;
    this.#options = options;
    this.#scope = `audit ${options.name}`;
    // Shorter than a lease, so that an attempt ends before another server may take over the sink.
    this.#attemptMs = Math.min(AUDIT_ATTEMPT_MS, (options.leaseMs * 2) / 3);
  }

  /** The number of lines waiting in the database: counted at intervals, and in between updated by this server's own changes. */
  get backlog(): number {
    return this.#backlog;
  }

  get isFull(): boolean {
    return this.#backlog >= this.#options.maxBacklog;
  }

  /** The waiting time of the oldest line, in milliseconds. */
  get lagMs(): number {
    return this.#oldest === undefined ? 0 : Math.max(0, this.#options.clock() - this.#oldest);
  }

  /** Whether lines wait longer than a dead server could delay them. */
  get isLate(): boolean {
    return this.lagMs > LATE_LEASES * this.#options.leaseMs;
  }

  /** Why the sink accepts nothing, and since when, in milliseconds. */
  get failing(): { reason: string; since: number } | undefined {
    return this.#failing;
  }

  get figures(): { delivered: number; failures: number; dropped: number } {
    return { delivered: this.#delivered, failures: this.#failures, dropped: this.#dropped };
  }

  /** Call this when a line was committed. */
  noteCommitted(): void {
    this.#backlog++;
    this.#oldest ??= this.#options.clock();
    this.wake();
  }

  /** Call this when an activity was committed whose line is dropped because the queue is full. */
  noteDropped(): void {
    this.#dropped++;
    const { name, log } = this.#options;
    this.#log.note("dropped", () => {
      const figures = { sink: name, backlog: this.#backlog, dropped: this.#dropped };
      log.warn(figures, "the queue of an audit sink is full: lines of activities are dropped");
    });
    this.memory.leaveOut("activities_dropped", this.#options.clock());
  }

  wake(): void {
    this.#isWoken = true;
    this.#wake();
  }

  /** Resolves once the waiting lines are counted. */
  async start(): Promise<void> {
    await this.#count();
    this.#running = this.#run();
  }

  /** Makes one last short attempt. Lines in the database are delivered after the next start. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.wake();
    const timer = new AbortController();
    const late = setTimeout(AUDIT_STOP_MS, undefined, { signal: timer.signal }).catch(() => {});
    await Promise.race([this.#running, late]);
    timer.abort();
    // This aborts an attempt in progress.
    await this.#options.sink.close();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#stopping) {
      this.#isWoken = false;
      const isMore = await this.#round(this.#attemptMs);
      if (!isMore) await this.#rest();
    }
    await this.#round(Math.min(AUDIT_STOP_MS / 2, this.#attemptMs));
  }

  /** Resolves to whether more lines can be delivered immediately. */
  async #round(timeoutMs: number): Promise<boolean> {
    try {
      if (this.#failing && performance.now() < this.#failing.notBefore) {
        await this.#countNowAndThen();
        return false;
      }
      await this.#deliverRemembered(timeoutMs);
      return await this.#deliverStored(timeoutMs);
    } catch (error) {
      this.#noteFailure(error);
      return false;
    }
  }

  async #deliverRemembered(timeoutMs: number): Promise<void> {
    if (this.memory.isEmpty) return;
    const { lines, delivered } = this.memory.take();
    await this.#deliver(lines, timeoutMs);
    delivered();
  }

  async #deliverStored(timeoutMs: number): Promise<boolean> {
    const { name, database, owner, leaseMs, clock } = this.#options;
    if (performance.now() < this.#elsewhereUntil) return this.#leaveToOther();
    const next = () => nextLines(database.read, { sink: name, limit: AUDIT_BATCH });
    let lines = await next();
    if (lines.length > 0 && clock() + timeoutMs > this.#leasedUntil) {
      if (!(await this.#lease())) {
        this.#elsewhereUntil = performance.now() + AUDIT_LOOK_MS;
        return this.#leaveToOther();
      }
      // Read again: another server may have delivered the lines since.
      lines = await next();
    }
    this.#oldest = lines[0]?.created_at;
    if (lines.length < AUDIT_BATCH) this.#noteCount(lines.length);
    else await this.#countNowAndThen();
    if (lines.length === 0) {
      if (this.memory.isEmpty) this.#failing = undefined;
      return false;
    }
    try {
      await this.#deliver(
        lines.map(({ line }) => line),
        timeoutMs,
      );
    } catch (error) {
      await this.#giveLeaseBack();
      throw error;
    }
    const until = clock() + leaseMs;
    const isOurs = await database.transact(this.#scope, async (tx) => {
      const leased = await leaseSink(tx, { sink: name, owner, until, now: clock() });
      // Otherwise another server has taken over and is delivering them again.
      if (leased) {
        const seqs = lines.map(({ seq }) => seq);
        await removeLines(tx, name, seqs);
      }
      return leased;
    });
    this.#leasedUntil = isOurs ? until : 0;
    if (isOurs) this.#backlog = Math.max(0, this.#backlog - lines.length);
    if (lines.length < AUDIT_BATCH && isOurs) this.#oldest = undefined;
    return lines.length === AUDIT_BATCH;
  }

  /** Another server delivers the lines, so a failed attempt of this one no longer matters. */
  async #leaveToOther(): Promise<false> {
    this.#failing = undefined;
    await this.#countNowAndThen();
    return false;
  }

  async #deliver(lines: readonly string[], timeoutMs: number): Promise<void> {
    await this.#options.sink.deliver(lines, timeoutMs);
    this.#delivered += lines.length;
    if (!this.#failing) return;
    const { name, clock, log } = this.#options;
    const seconds = (clock() - this.#failing.since) / 1000;
    log.info({ sink: name, seconds, dropped: this.#dropped }, "an audit sink accepts lines again");
    this.#log.isOver("failing");
    this.#log.isOver("dropped");
    this.#failing = undefined;
  }

  async #lease(): Promise<boolean> {
    const { name, database, owner, leaseMs, clock } = this.#options;
    const until = clock() + leaseMs;
    const isOurs = await database.transact(this.#scope, (tx) =>
      leaseSink(tx, { sink: name, owner, until, now: clock() }),
    );
    this.#leasedUntil = isOurs ? until : 0;
    return isOurs;
  }

  /** Releases the lease after a failure, because another server may be able to deliver: the full disk may be only this one's. */
  async #giveLeaseBack(): Promise<void> {
    const { name, database, owner, clock } = this.#options;
    this.#leasedUntil = 0;
    await database
      .transact(this.#scope, (tx) => leaseSink(tx, { sink: name, owner, until: 0, now: clock() }))
      // If this fails, the lease expires anyway.
      .catch(() => {});
  }

  #noteFailure(error: unknown): void {
    const { name, clock, log } = this.#options;
    const now = clock();
    if (!(error instanceof SinkFailure)) {
      // An unavailable database is reported elsewhere, and tried again in the next round.
      const isAway = error instanceof KeysteadError || (error instanceof DatabaseFailure && error.kind !== "bug");
      if (!isAway)
        this.#log.note("read", () => log.error({ sink: name, err: error }, "lines could not be read from the queue"));
      return;
    }
    this.#failures++;
    const { since, attempts } = this.#failing ?? { since: now, attempts: 0 };
    this.#log.note("failing", () => {
      log.warn({ sink: name, reason: error.message, backlog: this.#backlog }, "an audit sink does not accept lines");
    });
    const notBefore = performance.now() + backOffMs(BACK_OFF, attempts);
    this.#failing = { reason: error.message, since, attempts: attempts + 1, notBefore };
  }

  /** A large backlog is counted less often, because counting takes long and its relative change is small. */
  async #countNowAndThen(): Promise<void> {
    const pauseMs = this.#backlog > LARGE_AUDIT_BACKLOG ? LARGE_AUDIT_BACKLOG_LOOK_MS : AUDIT_LOOK_MS;
    if (performance.now() - this.#countedAt >= pauseMs) await this.#count();
  }

  async #count(): Promise<void> {
    const { name, database, maxBacklog } = this.#options;
    const { count, oldest } = await countLines(database.read, name, maxBacklog + 1);
    this.#oldest = oldest;
    this.#noteCount(count);
  }

  #noteCount(count: number): void {
    this.#backlog = count;
    this.#countedAt = performance.now();
  }

  /** Pauses briefly so that lines gather into a batch, then waits for the next line or the next poll for those of other servers. */
  async #rest(): Promise<void> {
    await this.#pause(AUDIT_GATHER_MS);
    if (this.#stopping || (this.#isWoken && !this.#failing)) return;
    await this.#pause(AUDIT_LOOK_MS - AUDIT_GATHER_MS, () => !this.#failing);
  }

  /** @param wakes whether a new line ends the pause; stopping the server always does */
  #pause(ms: number, wakes: () => boolean = () => false): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        this.#wake = () => {};
        resolve();
      };
      const timer = startTimer(end, ms);
      this.#wake = () => {
        if (this.#stopping || wakes()) end();
      };
    });
  }
}
