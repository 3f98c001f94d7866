import { fail } from "../kernel/errors.ts";
import { MAX_DATABASE_WAITING } from "../kernel/limits.ts";

/** What a connection is used for. */
export type Use = "transaction" | "read";

interface Waiter {
  /** Returns false if the waiting caller has given up. */
  call: () => boolean;
}

/** How long a reduced number of slots applies before all of them are tried again. */
const SHRUNK_MS = 5_000;
/** With a single slot, a transaction would wait forever for a read that it makes outside of itself. */
const LEAST_PLACES = 2;

/** How many of the connections transactions may use. While transactions wait for each other, reads go on. */
export const transactionsOf = (connections: number): number => Math.max(1, Math.floor((connections * 3) / 7));

/**
 * Slots for a number of connections. If none is free, a caller waits for a limited time, and only if not too many are waiting already.
 * Transactions go first; their number is limited to less than the number of slots.
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

  /** Reduces the number of slots for a while, because the database gives no more connections. */
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
    // Transactions have their own limits: how many there are, and how long each of their functions waits.
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
        // The slot is taken before its new holder runs, so that nobody takes it in between.
        if (queue.shift()?.call()) this.#taken[use]++;
      }
    }
  }
}

const busy = (): never => fail("DATABASE_BUSY", { retryAfterSeconds: 1 });
