import { onceATurn } from "../kernel/once-a-turn.ts";
import type { Query } from "./engine.ts";
import { type Asked, asked, type Rows, type Send, sendTogether } from "./gathered.ts";
import { keyOfQuery } from "./kept-reads.ts";

/**
 * Runs a query once for all callers that make it at the same time. A statement is sent at the end of the turn of the event loop in which it
 * was made and answers all callers of that turn, so an answer is never older than its question. Nothing is kept for the next turn.
 */
export class SharedReads {
  readonly #begin: () => Send;
  /** The queries of this turn, by statement and parameters. */
  #asked = new Map<string, Asked>();
  readonly #sendSoon = onceATurn(() => this.#sendAll());

  /** @param begin called once for the statements of a turn; returns the function that sends each of them */
  constructor(begin: () => Send) {
    this.#begin = begin;
  }

  async ask<Row>(query: Query<Row>): Promise<Row[]> {
    const key = keyOfQuery(query);
    const rows = await (key === undefined
      ? this.#begin()(query.sql, query.parameters as unknown[])
      : this.#together(key, query));
    // A separate array for each caller, who may sort it.
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
