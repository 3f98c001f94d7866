/**
 * Holds something until it is taken. A Set or Map whose entries come and go with each request contains slots, which are emptied when the
 * request is done, and not what they hold.
 *
 * When such a table grows or shrinks, V8 lets the old one refer to the new one and leaves its entries in it. Once an old one is in the old
 * generation, all that follow it, and everything that they hold, are kept and copied until the next full collection
 * (docs/adr/0169-requests-stay-young.md).
 */
export class Slot<T> {
  #held: T | undefined;

  constructor(held: T) {
    this.#held = held;
  }

  /** Undefined once it was taken. */
  get held(): T | undefined {
    return this.#held;
  }

  take(): T | undefined {
    const held = this.#held;
    this.#held = undefined;
    return held;
  }
}
