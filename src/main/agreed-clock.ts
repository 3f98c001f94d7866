import { type Clock, systemClock } from "../kernel/clock.ts";
import { CLOCK_LOOK_AGAIN_MS, CLOCK_LOOK_MS, MAX_CLOCKS_APART_MS } from "../kernel/limits.ts";
import { createLogger, type Logger } from "../kernel/log.ts";
import type { Database } from "../storage/database.ts";
import { askTime, type ClocksApart } from "./clock-apart.ts";

export interface AgreedClockOptions {
  /** This machine's clock. */
  machine: Clock;
  /** A SQLite database has no clock of its own. */
  database: Pick<Database, "kind" | "read">;
  log: Logger;
  /** A monotonic clock, in milliseconds. */
  steady?: () => number;
}

/**
 * The time of a server: its machine's clock, or the database's if the two differ by more than synchronized clocks do. Times that the servers of
 * one database share, such as the ends of leases on job lanes, therefore mean the same to all of them. If the machine's clock is set while the
 * server runs, the time continues unchanged until the database has been asked, which happens immediately.
 */
export class AgreedClock {
  readonly #options: AgreedClockOptions;
  readonly #steady: () => number;
  /** The milliseconds by which the time is ahead of this machine's clock. */
  #aheadMs = 0;
  /** The value that was logged last. */
  #toldMs = 0;
  /** Both clocks, as of the last call of `now`. */
  #last: Reading;
  #steps = 0;
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;
  #isStarted = false;
  #isClosed = false;

  constructor(options: AgreedClockOptions) {
    this.#options = options;
    this.#steady = options.steady ?? (() => performance.now());
    this.#last = this.#read();
  }

  readonly now: Clock = () => {
    this.#noteStep();
    return this.#last.machine + this.#aheadMs;
  };

  /** Resolves after the first comparison, and then compares at intervals. If the database does not answer, the last result stays in effect. */
  async start(): Promise<void> {
    if (this.#options.database.kind === "sqlite") return;
    this.#isStarted = true;
    await this.#lookNow();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#looking;
  }

  #read(): Reading {
    const before = this.#steady();
    const machine = this.#options.machine();
    return { machine, before, after: this.#steady() };
  }

  /** If this machine's clock was set, or the machine slept, continues the time unchanged and asks the database. */
  #noteStep(): void {
    const last = this.#last;
    this.#last = this.#read();
    const passed = this.#last.machine - last.machine;
    const [least, most] = [passed - (this.#last.after - last.before), passed - (this.#last.before - last.after)];
    const isSet = least > MAX_CLOCKS_APART_MS || most < -MAX_CLOCKS_APART_MS;
    if (!this.#isStarted || this.#isClosed || !isSet) return;
    const aheadMs = Math.round(this.#aheadMs - (least + most) / 2);
    this.#aheadMs = Math.abs(aheadMs) <= MAX_CLOCKS_APART_MS ? 0 : aheadMs;
    this.#steps++;
    void this.#lookNow();
  }

  /** Asks the database, once at a time. */
  #lookNow(): Promise<void> {
    if (this.#looking) return this.#looking;
    clearTimeout(this.#timer);
    const steps = this.#steps;
    this.#looking = this.#look().finally(() => {
      this.#looking = undefined;
      if (this.#isClosed) return;
      // If the clock was set in between, the answer is useless.
      const inMs = steps === this.#steps ? CLOCK_LOOK_MS : CLOCK_LOOK_AGAIN_MS;
      this.#timer = setTimeout(() => void this.#lookNow(), inMs).unref();
    });
    return this.#looking;
  }

  async #look(): Promise<void> {
    const { machine, database } = this.#options;
    this.#noteStep();
    const steps = this.#steps;
    const ask = (sql: string) => database.read.all<{ now: number }>({ sql, parameters: [] });
    const apart = await askTime(ask, machine).catch(() => undefined);
    this.#noteStep();
    if (!apart || steps !== this.#steps) return;
    if (!isAbout(apart, this.#aheadMs)) {
      // The answer took so long that the result is too imprecise.
      if (apart.mostMs - apart.leastMs > MAX_CLOCKS_APART_MS) return;
      this.#aheadMs = isAbout(apart, 0) ? 0 : Math.round((apart.leastMs + apart.mostMs) / 2);
    }
    this.#tell();
  }

  #tell(): void {
    const { log } = this.#options;
    const aheadMs = this.#aheadMs;
    if (aheadMs === this.#toldMs) return;
    this.#toldMs = aheadMs;
    if (aheadMs === 0) log.info("this machine's clock agrees with the database's again");
    else log.warn({ databaseAheadSeconds: aheadMs / 1000 }, NOT_AGREED);
  }
}

/** The time that the database's servers use, for a command, which compares the clocks only once. */
export async function agreedClockFor(database: AgreedClockOptions["database"]): Promise<Clock> {
  // Silent, because `doctor` and the servers already report clocks that differ.
  const agreed = new AgreedClock({ machine: systemClock, database, log: createLogger("silent") });
  await agreed.start();
  await agreed.close();
  return agreed.now;
}

/** The machine's clock was read between the two of the steady one: on a busy machine a process may stand still there. */
interface Reading {
  machine: number;
  before: number;
  after: number;
}

const NOT_AGREED = "this machine's clock is not the database's, whose time counts; let NTP set both";

const isAbout = ({ leastMs, mostMs }: ClocksApart, aheadMs: number): boolean =>
  leastMs - MAX_CLOCKS_APART_MS <= aheadMs && aheadMs <= mostMs + MAX_CLOCKS_APART_MS;
