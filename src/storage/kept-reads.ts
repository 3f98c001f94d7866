import { MAX_KEPT_READ_BYTES, MAX_KEPT_READS, MAX_KEPT_ROWS } from "../kernel/limits.ts";
import { recentlyUsed } from "../kernel/recently-used.ts";
import type { Query } from "./engine.ts";

/** What is known of one statement. */
interface Statement {
  /** An id that is shorter than its text, which would have to be hashed at each look-up. */
  number: number;
  /** Every word of the statement, including the tables that it reads. */
  words: ReadonlySet<string>;
  /** Answers from before this moment are stale. */
  since: number;
}

interface Kept {
  rows: readonly unknown[];
  at: number;
}

/** What a transaction wrote: rows of these tables, or `anything` if that is unknown. */
export type Written = ReadonlySet<string> | "anything";

/**
 * Keeps answers beyond transactions, for statements that run with each request and whose answers rarely change. Only for SQLite, where a
 * single server uses the file: `noteWritten` is called for all its writes, and `readVersion` shows whether another process (a command, or
 * an operator by hand) has written since. A kept answer is therefore always what the database would answer at that moment.
 */
export class KeptReads {
  readonly #readVersion: () => number;
  readonly #statements = new Map<string, Statement>();
  readonly #answers = recentlyUsed<Kept>({
    entries: MAX_KEPT_READS,
    bytes: MAX_KEPT_READ_BYTES,
    sizeOf: ({ rows }, key) => key.length + bytesOf(rows),
  });
  /** Queries in flight. */
  readonly #open = new Map<string, { rows: Promise<readonly unknown[]>; at: number }>();
  #version: number | undefined;
  /** Counts commits. */
  #now = 0;

  constructor(readVersion: () => number) {
    this.#readVersion = readVersion;
  }

  /** Call it before `find`. Once per transaction is enough, because no other process writes during one. */
  refresh(): void {
    const version = this.#readVersion();
    if (version !== this.#version) this.forgetAll();
    this.#version = version;
  }

  /**
   * The committed answer to a statement, or undefined.
   *
   * @param written the tables written by the asking transaction, which must see its own rows
   */
  find<Row>(query: Query<Row>, written: Written = NOTHING): Row[] | undefined {
    const { number, words, since } = this.#statementOf(query.sql);
    const key = keyOfQuery(query, number);
    const kept = key === undefined ? undefined : this.#answers.get(key);
    if (!kept) return undefined;
    if (kept.at < since || touches(written, words)) return undefined;
    // A separate array for each caller, who may sort it.
    return kept.rows.slice() as Row[];
  }

  /**
   * Runs the query and keeps the answer, unless a commit during the query makes it stale. Requests that were committed together ask the
   * same in one turn of the event loop, and share one answer.
   */
  async ask<Row>(query: Query<Row>, all: () => Promise<Row[]>): Promise<Row[]> {
    // Registered before the query starts, so that writes during it count.
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

  /** Reports what was committed. Must be called before the next query. */
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

/** A key that tells parameters apart; undefined if their text does not. */
export function keyOf(parameters: readonly unknown[]): string | undefined {
  const isPlain = parameters.every((each) => each === null || typeof each === "string" || typeof each === "number");
  return isPlain ? JSON.stringify(parameters) : undefined;
}

/**
 * A key for a statement with its parameters.
 *
 * @param statement its text, or an id in its place
 */
export function keyOfQuery({ sql, parameters }: Query, statement: string | number = sql): string | undefined {
  const key = keyOf(parameters);
  return key && `${statement} ${key}`;
}

/** Approximate size in memory. */
function bytesOf(rows: readonly unknown[]): number {
  let bytes = 0;
  for (const row of rows) {
    for (const value of Object.values(row as object)) {
      bytes += typeof value === "string" ? value.length * 2 : ((value as Uint8Array | null)?.byteLength ?? 8);
    }
  }
  return bytes;
}
