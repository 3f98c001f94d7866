/**
 * Lets so many of each key in at one time; the others of that key wait, the first to come first. Who waits takes nothing from
 * those of other keys.
 */
export class Turns {
  readonly #atOnce: number;
  readonly #keys = new Map<string, { inside: number; waiting: (() => void)[] }>();

  constructor(atOnce: number) {
    this.#atOnce = atOnce;
  }

  /** Resolves when it is one's turn, to what ends it. */
  async enter(key: string): Promise<() => void> {
    const state = this.#keys.get(key) ?? { inside: 0, waiting: [] };
    this.#keys.set(key, state);
    if (state.inside < this.#atOnce) state.inside++;
    else await new Promise<void>((resolve) => state.waiting.push(resolve));
    return () => {
      const next = state.waiting.shift();
      // The place is handed on, so that nobody who comes later is let in first.
      if (next) next();
      else if (--state.inside === 0) this.#keys.delete(key);
    };
  }
}
