/**
 * A fixed number of slots for which nobody waits. A key gets one only while it holds fewer than are free, so that each leaves at least as many
 * to others as it takes.
 */
export class FairShares {
  #free: number;
  readonly #held = new Map<string, number>();

  constructor(slots: number) {
    this.#free = slots;
  }

  get isUnused(): boolean {
    return this.#held.size === 0;
  }

  /** A function that gives the slot back; undefined if the key gets none. */
  take(key: string): (() => void) | undefined {
    const held = this.#held.get(key) ?? 0;
    if (held >= this.#free) return undefined;
    this.#set(key, held + 1);
    this.#free--;
    return () => {
      this.#set(key, (this.#held.get(key) ?? 0) - 1);
      this.#free++;
    };
  }

  #set(key: string, held: number): void {
    if (held === 0) this.#held.delete(key);
    else this.#held.set(key, held);
  }
}
