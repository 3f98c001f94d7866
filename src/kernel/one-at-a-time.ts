/** Runs work with the same key one at a time, in the order of the calls. Work runs even if the work before it failed. */
export class OneAtATime {
  readonly #last = new Map<string, Promise<void>>();

  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key);
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    this.#last.set(key, ended);
    await before;
    try {
      return await work();
    } finally {
      if (this.#last.get(key) === ended) this.#last.delete(key);
      end();
    }
  }

  /** The number of keys with running work. */
  get size(): number {
    return this.#last.size;
  }
}
