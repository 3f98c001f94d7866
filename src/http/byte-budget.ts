import { failForNow } from "../kernel/errors.ts";
import { MAX_SHARE_OF_ONE_ADDRESS, SMALL_MESSAGE_BYTES } from "../kernel/limits.ts";

/**
 * The bytes that all requests together may make the server hold at one time, and those of one address. Small messages are free, so that
 * clients with small requests are not refused because of others with large ones.
 */
export class ByteBudget {
  readonly #what: string;
  readonly #maxBytes: number;
  readonly #heldBy = new Map<string, number>();
  #held = 0;

  /** @param what the thing that is held, in the plural, for the error message */
  constructor(what: string, maxBytes: number) {
    this.#what = what;
    this.#maxBytes = maxBytes;
  }

  get held(): number {
    return this.#held;
  }

  /**
   * Counts a message while it is held in memory.
   *
   * @returns a function that releases the bytes
   * @throws KeysteadError RATE_LIMITED if there is no room
   */
  take(origin: string, bytes: number): () => void {
    if (bytes <= SMALL_MESSAGE_BYTES) return () => {};
    const own = this.#heldBy.get(origin) ?? 0;
    if (own + bytes > this.#maxBytes * MAX_SHARE_OF_ONE_ADDRESS) {
      failForNow("RATE_LIMITED", { reason: `too many large ${this.#what} of this address are open` }, RETRY_SECONDS);
    }
    if (this.#held + bytes > this.#maxBytes) {
      failForNow("RATE_LIMITED", { reason: `too many large ${this.#what} are open` }, RETRY_SECONDS);
    }
    this.#add(origin, bytes);
    let isHeld = true;
    return () => {
      if (isHeld) this.#add(origin, -bytes);
      isHeld = false;
    };
  }

  #add(origin: string, bytes: number): void {
    this.#held += bytes;
    const own = (this.#heldBy.get(origin) ?? 0) + bytes;
    if (own === 0) this.#heldBy.delete(origin);
    else this.#heldBy.set(origin, own);
  }
}

const RETRY_SECONDS = 1;
