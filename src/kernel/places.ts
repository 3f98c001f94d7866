/** Lets a bounded number of each key in at one time. Further ones of the same key wait in order, and do not affect other keys. */
export class Places {
  readonly #atOnce: number;
  readonly #keys = new Map<string, { inside: number; waiting: (() => void)[] }>();

  constructor(atOnce: number) {
    this.#atOnce = atOnce;
  }

  /** Waits for a slot. Resolves to a function that releases it. */
  async enter(key: string): Promise<() => void> {
    const state = this.#keys.get(key) ?? { inside: 0, waiting: [] };
    this.#keys.set(key, state);
    if (state.inside < this.#atOnce) state.inside++;
    else await new Promise<void>((resolve) => state.waiting.push(resolve));
    return () => {
      const next = state.waiting.shift();
      // The slot is passed on directly, so that a later call cannot take it first.
      if (next) next();
      else if (--state.inside === 0) this.#keys.delete(key);
    };
  }
}
