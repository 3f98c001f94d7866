import { onceATurn } from "../kernel/once-a-turn.ts";
import type { Query } from "./engine.ts";
import { type Asked, asked, type Rows, type Send, sendTogether } from "./gathered.ts";
import { keyOfQuery } from "./kept-reads.ts";

/**
 * Asks once for what several ask at the same time. A statement leaves at the end of the turn of the event loop in which it was asked for
 * and serves all who asked for the same in that turn, so an answer is never older than its question. Nothing is kept: the next turn asks anew.
 */
export class SharedReads {
  readonly #begin: () => Send;
  /** What is asked for in this turn, by statement and parameters. */
  #asked = new Map<string, Asked>();
  readonly #sendSoon = onceATurn(() => this.#sendAll());

  /** @param begin called once for the statements of a turn; what it gives sends each of them */
  constructor(begin: () => Send) {
    this.#begin = begin;
  }

  async ask<Row>(query: Query<Row>): Promise<Row[]> {
    const key = keyOfQuery(query);
    const rows = await (key === undefined
      ? this.#begin()(query.sql, query.parameters as unknown[])
      : this.#together(key, query));
    // An array for each: whoever asks may put it in order.
    return rows.slice() as Row[];
  }

  #together(key: string, query: Query): Promise<Rows> {
    const known = this.#asked.get(key);
    if (known) return known.promise;
    const waiting = asked(query);
    this.#asked.set(key, waiting);
    void this.#sendSoon();
    return waiting.promise;
  }

  #sendAll(): void {
    const waiting = this.#asked;
    this.#asked = new Map();
    const send = this.#begin();
    const sendFrozen: Send = async (sql, parameters) => (await send(sql, parameters)).map((row) => Object.freeze(row));
    sendTogether(waiting.values(), sendFrozen);
  }
}
