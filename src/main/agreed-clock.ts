import { type Clock, systemClock } from "../kernel/clock.ts";
import { CLOCK_LOOK_MS, MAX_CLOCKS_APART_MS } from "../kernel/limits.ts";
import { createLogger, type Logger } from "../kernel/log.ts";
import type { Database } from "../storage/database.ts";
import { askTime, type ClocksApart } from "./clock-apart.ts";

export interface AgreedClockOptions {
  /** This machine's clock. */
  machine: Clock;
  /** A SQLite database has no clock of its own. */
  database: Pick<Database, "kind" | "read">;
  log: Logger;
}

/**
 * The time of a server: its machine's clock, or the database's if the two differ by more than synchronized clocks do. Times that the servers of
 * one database share, such as the ends of leases on job lanes, therefore mean the same to all of them.
 */
export class AgreedClock {
  readonly #options: AgreedClockOptions;
  /** The milliseconds by which the time is ahead of this machine's clock. */
  #aheadMs = 0;
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(options: AgreedClockOptions) {
    this.#options = options;
  }

  readonly now: Clock = () => this.#options.machine() + this.#aheadMs;

  /** Resolves after the first comparison, and then compares at intervals. If the database does not answer, the last result stays in effect. */
  async start(): Promise<void> {
    if (this.#options.database.kind === "sqlite") return;
    this.#looking = this.#look();
    await this.#looking;
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => void this.start(), CLOCK_LOOK_MS).unref();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#looking;
  }

  async #look(): Promise<void> {
    const { machine, database, log } = this.#options;
    const ask = (sql: string) => database.read.all<{ now: number }>({ sql, parameters: [] });
    const apart = await askTime(ask, machine).catch(() => undefined);
    if (!apart || isAbout(apart, this.#aheadMs)) return;
    // The answer took so long that the result is too imprecise.
    if (apart.mostMs - apart.leastMs > MAX_CLOCKS_APART_MS) return;
    const aheadMs = isAbout(apart, 0) ? 0 : Math.round((apart.leastMs + apart.mostMs) / 2);
    this.#aheadMs = aheadMs;
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

const NOT_AGREED = "this machine's clock is not the database's, whose time counts; let NTP set both";

const isAbout = ({ leastMs, mostMs }: ClocksApart, aheadMs: number): boolean =>
  leastMs - MAX_CLOCKS_APART_MS <= aheadMs && aheadMs <= mostMs + MAX_CLOCKS_APART_MS;
