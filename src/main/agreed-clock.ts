import { type Clock, systemClock } from "../kernel/clock.ts";
import { CLOCK_LOOK_AGAIN_MS, CLOCK_LOOK_MS, MAX_CLOCKS_APART_MS } from "../kernel/limits.ts";
import { createLogger, type Logger } from "../kernel/log.ts";
import type { Database } from "../storage/database.ts";
import { askTime, type ClocksApart } from "./clock-apart.ts";

export interface AgreedClockOptions {
  /** This machine's clock. */
  machine: Clock;
  /** A SQLite database has this machine's clock. */
  database: Pick<Database, "kind" | "read">;
  log: Logger;
  /** Milliseconds that nobody sets. */
  steady?: () => number;
}

/**
 * The time of a server: its machine's, or the database's where the two are further apart than machines that keep time. What servers on
 * one database tell one another, such as who has a lane of jobs for how long, so means the same to all of them. A clock that is set
 * while the server runs changes nothing until the database was asked, which is at once.
 */
export class AgreedClock {
  readonly #options: AgreedClockOptions;
  readonly #steady: () => number;
  /** By how much the time is ahead of this machine's. */
  #aheadMs = 0;
  /** What of that the log was told last. */
  #toldMs = 0;
  /** What both clocks said when the time was asked for last. */
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

  /** Resolves after the first look; it goes on looking. While the database does not tell, what it told last holds. */
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

  /** Where this machine's clock was set, or the machine slept, the time goes on as it went, and the database is asked. */
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

  /** One look at a time. */
  #lookNow(): Promise<void> {
    if (this.#looking) return this.#looking;
    clearTimeout(this.#timer);
    const steps = this.#steps;
    this.#looking = this.#look().finally(() => {
      this.#looking = undefined;
      if (this.#isClosed) return;
      // A clock that was set in between spoiled the answer.
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
      // The answer took so long that it says too little.
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

/** For a command, which looks once: the time that the servers of the same database go by. */
export async function agreedClockFor(database: AgreedClockOptions["database"]): Promise<Clock> {
  // Doctor and the servers tell of clocks that are apart.
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
