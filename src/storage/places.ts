import { fail } from "../kernel/errors.ts";
import { MAX_DATABASE_WAITING } from "../kernel/limits.ts";

/** What a connection is taken for. */
export type Use = "transaction" | "read";

interface Waiter {
  /** False for one that has given up meanwhile. */
  call: () => boolean;
}

/** How long fewer places are made do with before it is tried again with all. */
const SHRUNK_MS = 5_000;
/** A transaction that has the only place would wait for the read that it asks for beside it. */
const LEAST_PLACES = 2;

/** How many of so many connections transactions may hold: while they wait for each other, reads go on. */
export const transactionsOf = (connections: number): number => Math.max(1, Math.floor((connections * 3) / 7));

/**
 * The places on a number of connections. Who finds none waits, for a time and up to a number of those who wait already. Transactions
 * go first, as fewer of them can be under way than there are places.
 */
export class Places {
  readonly #most: number;
  readonly #waitMs: number;
  #limit: number;
  readonly #taken = { transaction: 0, read: 0 };
  readonly #queues: Record<Use, Waiter[]> = { transaction: [], read: [] };
  #waiting = 0;
  #restoring: NodeJS.Timeout | undefined;

  constructor(most: number, waitMs: number) {
    this.#most = most;
    this.#waitMs = waitMs;
    this.#limit = most;
  }

  get waiting(): number {
    return this.#waiting;
  }

  async take(use: Use): Promise<void> {
    if (this.#hasRoomFor(use)) this.#taken[use]++;
    else await this.#wait(use);
  }

  giveBack(use: Use): void {
    this.#taken[use]--;
    this.#callNext();
  }

  /** Makes do with fewer for a while: nobody gives more. */
  shrinkTo(limit: number): void {
    this.#limit = Math.max(LEAST_PLACES, Math.min(this.#limit, limit));
    clearTimeout(this.#restoring);
    this.#restoring = setTimeout(() => {
      this.#limit = this.#most;
      this.#callNext();
    }, SHRUNK_MS).unref();
  }

  #hasRoomFor(use: Use): boolean {
    const { transaction, read } = this.#taken;
    if (transaction + read >= this.#limit) return false;
    return use === "read" || transaction < transactionsOf(this.#limit);
  }

  #wait(use: Use): Promise<void> {
    // Transactions have their own bounds: how many there are, and how long each of their functions waits.
    if (use === "read" && this.#waiting >= MAX_DATABASE_WAITING) busy();
    return new Promise((resolve, reject) => {
      let isWaiting = true;
      const stop = (): boolean => {
        const was = isWaiting;
        isWaiting = false;
        clearTimeout(timer);
        if (was) this.#waiting--;
        return was;
      };
      const giveUp = () => {
        if (!stop()) return;
        try {
          busy();
        } catch (error) {
          reject(error);
        }
      };
      const timer = use === "read" ? setTimeout(giveUp, this.#waitMs) : undefined;
      this.#waiting++;
      this.#queues[use].push({
        call: () => {
          const was = stop();
          if (was) resolve();
          return was;
        },
      });
    });
  }

  #callNext(): void {
    for (const use of ["transaction", "read"] as const) {
      const queue = this.#queues[use];
      while (queue.length > 0 && this.#hasRoomFor(use)) {
        // Taken before its holder goes on, so that nobody comes in between.
        if (queue.shift()?.call()) this.#taken[use]++;
      }
    }
  }
}

const busy = (): never => fail("DATABASE_BUSY", { retryAfterSeconds: 1 });
