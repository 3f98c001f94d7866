/** Work of one kind at a time: what has the same key waits for what was asked for before it, however that ended. */
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

  /** How many keys there are for which something runs. */
  get size(): number {
    return this.#last.size;
  }
}
