import { FAILED_WRITE_MS, HEALTH_DEADLINE_MS, HEALTH_LIFETIME_MS } from "../kernel/limits.ts";
import { DatabaseFailure, translate } from "./failure.ts";

/** `unwritable`: it answers reads but accepts no writes. The reason follows "the database". `isPartial`: much of it still works. */
export type Health = { state: "ready" } | { state: "unwritable" | "unavailable"; reason: string; isPartial?: true };

interface Probes {
  read: () => Promise<unknown>;
  /** A small write that is durable when it resolves. Nothing else proves that commits work. */
  write: () => Promise<unknown>;
}

/**
 * Checks whether the database can be read and written. All callers at the same time or shortly after share one check, and a check ends
 * within a deadline whatever the database does.
 */
export class HealthCheck {
  readonly #read: Probe;
  readonly #write: Probe;
  #look: Promise<Health> | undefined;
  #found: { health: Health; at: number } | undefined;
  #failedWrite: { reason: string; at: number } | undefined;
  #damage: string | undefined;

  constructor({ read, write }: Probes) {
    this.#read = new Probe(read, "did not answer in time");
    this.#write = new Probe(write, "did not confirm a write in time");
  }

  /** Never rejects. */
  check(): Promise<Health> {
    if (this.#found && performance.now() - this.#found.at < HEALTH_LIFETIME_MS)
      return Promise.resolve(this.#found.health);
    this.#look ??= this.#lookNow().finally(() => {
      this.#look = undefined;
    });
    return this.#look;
  }

  /** Another write failed because of the database. A probe may be too small to run into the same problem. */
  noteFailedWrite({ reason }: DatabaseFailure): void {
    this.#failedWrite = { reason, at: performance.now() };
  }

  /** Its file is damaged somewhere, which probes do not read, and which remains so as long as the file is open. */
  noteDamage({ reason }: DatabaseFailure): void {
    this.#damage = reason;
  }

  async #lookNow(): Promise<Health> {
    const [unread, unwritten] = await Promise.all([this.#read.problem(), this.#write.problem()]);
    const health: Health =
      unread !== undefined
        ? { state: "unavailable", reason: unread }
        : unwritten !== undefined
          ? { state: "unwritable", reason: unwritten }
          : this.#damage !== undefined
            ? { state: "unavailable", reason: this.#damage, isPartial: true }
            : this.#recentlyFailed();
    this.#found = { health, at: performance.now() };
    return health;
  }

  #recentlyFailed(): Health {
    const failed = this.#failedWrite;
    if (!failed || performance.now() - failed.at > FAILED_WRITE_MS) return { state: "ready" };
    return { state: "unwritable", reason: failed.reason };
  }
}

/** A question to the database. Only one is in flight at a time, even if nobody waits for its answer any more. */
class Probe {
  readonly #ask: () => Promise<unknown>;
  readonly #late: string;
  #asking: Promise<string | undefined> | undefined;

  constructor(ask: () => Promise<unknown>, late: string) {
    this.#ask = ask;
    this.#late = late;
  }

  /** What is wrong, within the deadline. */
  async problem(): Promise<string | undefined> {
    this.#asking ??= this.#answer().finally(() => {
      this.#asking = undefined;
    });
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<string>((resolve) => {
      timer = setTimeout(resolve, HEALTH_DEADLINE_MS, this.#late);
    });
    const problem = await Promise.race([this.#asking, late]);
    clearTimeout(timer);
    return problem;
  }

  async #answer(): Promise<string | undefined> {
    try {
      await this.#ask();
      return undefined;
    } catch (error) {
      const failure = translate(error);
      // All other errors are Keystead's own: the deadline passed, or the server is stopping.
      return failure instanceof DatabaseFailure ? failure.reason : this.#late;
    }
  }
}
