import { outsideSpans } from "../kernel/spans.ts";
import type { Query } from "./engine.ts";
import { keyOfQuery } from "./kept-reads.ts";

type Rows = readonly unknown[];
interface Asked extends PromiseWithResolvers<Rows> {
  query: Query;
}

/**
 * Asks once for what several ask at the same time. A statement leaves at the end of the turn of the event loop in which it was asked for
 * and serves all who asked for the same in that turn, so an answer is never older than its question. Nothing is kept: the next turn asks anew.
 */
export class SharedReads {
  readonly #ask: (query: Query) => Promise<Rows>;
  /** What is asked for in this turn, by statement and parameters. */
  #asked = new Map<string, Asked>();

  constructor(ask: (query: Query) => Promise<Rows>) {
    this.#ask = ask;
  }

  async ask<Row>(query: Query<Row>): Promise<Row[]> {
    const key = keyOfQuery(query);
    const rows = await (key === undefined ? this.#ask(query) : this.#together(key, query));
    // An array for each: whoever asks may put it in order.
    return rows.slice() as Row[];
  }

  #together(key: string, query: Query): Promise<Rows> {
    const known = this.#asked.get(key);
    if (known) return known.promise;
    // What is done for all who ask belongs to the trace of none.
    if (this.#asked.size === 0) outsideSpans(() => setImmediate(() => this.#send()));
    const asked = { ...Promise.withResolvers<Rows>(), query };
    this.#asked.set(key, asked);
    return asked.promise;
  }

  #send(): void {
    const asked = this.#asked;
    this.#asked = new Map();
    for (const { query, resolve, reject } of asked.values()) {
      this.#ask(query).then((rows) => resolve(rows.map((row) => Object.freeze(row))), reject);
    }
  }
}
