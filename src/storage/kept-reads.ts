import { MAX_KEPT_READ_BYTES, MAX_KEPT_READS, MAX_KEPT_ROWS } from "../kernel/limits.ts";
import { recentlyUsed } from "../kernel/recently-used.ts";
import type { Query } from "./engine.ts";

/** What is known of one statement. */
interface Statement {
  /** Shorter than its text, which would have to be hashed with each look-up. */
  number: number;
  /** Every word of it, the tables that it reads among them. */
  words: ReadonlySet<string>;
  /** Answers from before are not true any more. */
  since: number;
}

interface Kept {
  rows: readonly unknown[];
  at: number;
}

/** What a transaction wrote: rows of these tables, or what nobody can tell. */
export type Written = ReadonlySet<string> | "anything";

/**
 * Answers of statements that are asked with each request and change seldom, from committed state, kept beyond transactions. It is for
 * SQLite, where one server has the file: all that it writes is told to `noteWritten`, and `readVersion` tells whether another process
 * (a command, or an operator by hand) wrote since. So an answer that is given is what the database would answer at that moment.
 */
export class KeptReads {
  readonly #readVersion: () => number;
  readonly #statements = new Map<string, Statement>();
  readonly #answers = recentlyUsed<Kept>({
    entries: MAX_KEPT_READS,
    bytes: MAX_KEPT_READ_BYTES,
    sizeOf: ({ rows }, key) => key.length + bytesOf(rows),
  });
  /** Answers that are on their way. */
  readonly #open = new Map<string, { rows: Promise<readonly unknown[]>; at: number }>();
  #version: number | undefined;
  /** Counts what was written. */
  #now = 0;

  constructor(readVersion: () => number) {
    this.#readVersion = readVersion;
  }

  /** To be called before `find`; within a transaction once, as no other process writes beside it. */
  refresh(): void {
    const version = this.#readVersion();
    if (version !== this.#version) this.forgetAll();
    this.#version = version;
  }

  /**
   * The committed answer to a statement, or undefined.
   *
   * @param written by the transaction that asks, which sees its own rows
   */
  find<Row>(query: Query<Row>, written: Written = NOTHING): Row[] | undefined {
    const { number, words, since } = this.#statementOf(query.sql);
    const key = keyOfQuery(query, number);
    const kept = key === undefined ? undefined : this.#answers.get(key);
    if (!kept) return undefined;
    if (kept.at < since || touches(written, words)) return undefined;
    // An array for each: whoever asks may put it in order.
    return kept.rows.slice() as Row[];
  }

  /**
   * Asks and keeps the answer; what is committed while it is asked for is not missed. Requests that were committed together ask for the same
   * in one turn, and are given one answer.
   */
  async ask<Row>(query: Query<Row>, all: () => Promise<Row[]>): Promise<Row[]> {
    // Known from here on, so that what is written meanwhile counts.
    const { number, since } = this.#statementOf(query.sql);
    const key = keyOfQuery(query, number);
    if (key === undefined) return all();
    const open = this.#open.get(key);
    if (open && open.at >= since) return ((await open.rows) as Row[]).slice();
    const asked = { rows: all(), at: this.#now };
    this.#open.set(key, asked);
    try {
      const rows = await asked.rows;
      if (rows.length <= MAX_KEPT_ROWS)
        this.#answers.set(key, { rows: rows.map((row) => Object.freeze(row)), at: asked.at });
      return rows.slice();
    } finally {
      if (this.#open.get(key) === asked) this.#open.delete(key);
    }
  }

  /** What was committed, to be told before anything else is asked. */
  noteWritten(written: Written): void {
    this.#now++;
    for (const statement of this.#statements.values()) {
      if (touches(written, statement.words)) statement.since = this.#now;
    }
  }

  forgetAll(): void {
    this.noteWritten("anything");
    this.#answers.clear();
  }

  #statementOf(sql: string): Statement {
    const known = this.#statements.get(sql);
    if (known) return known;
    const statement = { number: this.#statements.size, words: new Set(sql.match(/\w+/g)), since: 0 };
    this.#statements.set(sql, statement);
    return statement;
  }
}

const NOTHING: Written = new Set();

function touches(written: Written, words: ReadonlySet<string>): boolean {
  if (written === "anything") return true;
  for (const table of written) if (words.has(table)) return true;
  return false;
}

/** Tells parameters apart; undefined where their text does not. */
export function keyOf(parameters: readonly unknown[]): string | undefined {
  const isPlain = parameters.every((each) => each === null || typeof each === "string" || typeof each === "number");
  return isPlain ? JSON.stringify(parameters) : undefined;
}

/**
 * The same for a statement with its parameters.
 *
 * @param statement its text, or what stands for it
 */
export function keyOfQuery({ sql, parameters }: Query, statement: string | number = sql): string | undefined {
  const key = keyOf(parameters);
  return key && `${statement} ${key}`;
}

/** About, in memory. */
function bytesOf(rows: readonly unknown[]): number {
  let bytes = 0;
  for (const row of rows) {
    for (const value of Object.values(row as object)) {
      bytes += typeof value === "string" ? value.length * 2 : ((value as Uint8Array | null)?.byteLength ?? 8);
    }
  }
  return bytes;
}
