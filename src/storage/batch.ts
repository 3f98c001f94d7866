import type { CompiledQuery, QueryResult } from "kysely";
import { MAX_ASKED_ANEW, MAX_KEPT_ANSWERS, MAX_KEPT_ROWS } from "../kernel/limits.ts";
import type { Connection, DatabaseKind, Known, LaterWrite, Query, Reader, StoredRow } from "./engine.ts";
import { DatabaseFailure, isOfAbortedTransaction, isTaken } from "./failure.ts";
import { type Asked, asked, type Rows, sendTogether } from "./gathered.ts";
import { type KeptReads, keyOf, type Written } from "./kept-reads.ts";

/** Rows of other tables go with those that are deleted of these. A test reads it from the tables. */
export const TABLES_WITH_DEPENDANTS: ReadonlySet<string> = new Set([
  "api_keys",
  "private_keys",
  "tags",
  "users",
  "wallets",
  "webhook_deliveries",
  "webhook_endpoints",
  "webhook_events",
]);

interface Kept {
  query: Query;
  /** Undefined where it is not known any more. */
  rows: Promise<Rows> | undefined;
  /** Once it is there. */
  answer: Rows | undefined;
  /** By how many functions, and which one was the last. */
  askedBy: number;
  lastAskedBy: number;
}

interface LaterRow {
  into: LaterWrite;
  row: StoredRow;
}

/**
 * What the functions of one transaction share. All of them waited when it was begun, so an answer that one of them got serves the next,
 * until something is written that it may depend on: **kept answers**. Rows that hardly anybody looks for need not be there at once:
 * **later rows** are written together, before whatever may look for them and before the commit. And what one function made of what it read
 * is **known** to the next.
 *
 * Each call asks the connection before it returns: what is asked one after the other is done in that order.
 */
export class Batch implements Connection {
  readonly #connection: Connection;
  readonly #kind: DatabaseKind;
  readonly #isLate: boolean;
  /** Answers by statement and parameters. */
  readonly #kept = new Map<string, Map<string, Kept>>();
  /** What everybody asks and a statement made untrue that is about to be sent. */
  #stale: Kept[] = [];
  /** Counts functions. */
  #function = 0;
  #isLastFunction = false;
  /** What is asked ahead, to be sent together. */
  #ahead: Asked[] | undefined;
  #keptCount = 0;
  #rows: LaterRow[] = [];
  /** In which way they are written, by table. */
  #waysOf = new Map<string, LaterWrite>();
  /** Those that waited when the function that runs now was begun. */
  #rowsBefore: LaterRow[] = [];
  /** Settles when rows that were sent are written or lost. */
  #writing: Promise<unknown> = Promise.resolve();
  /** Why rows could not be written; the transaction is lost with them, unless that was undone. */
  #loss: unknown;
  /** How often a function was undone. */
  #undoings = 0;
  readonly #committed: KeptReads | undefined;
  /** Called before something is written. */
  readonly #beforeWrite: () => void;
  #hasFailed = false;
  /** The first failure since, which is why others fail. */
  #refusal: unknown;
  /** What is to be asked at the end. */
  #last: Asked[] = [];
  /** How much of it when the function that runs now was begun. */
  #lastBefore = 0;
  readonly #known = new Map<Known<unknown>, unknown>();
  /** Counts functions, and whatever makes all that is known untrue. */
  #epoch = 0;
  #written: Set<string> | "anything" = new Set();

  /**
   * @param isLate whether rows may be written later than they are asked for
   * @param committed answers from before the transaction, true of the tables that it did not write
   * @param beforeWrite is called before each statement that may write
   */
  constructor(
    connection: Connection,
    kind: DatabaseKind,
    isLate: boolean,
    { committed, beforeWrite = () => {} }: { committed?: KeptReads; beforeWrite?: () => void } = {},
  ) {
    this.#connection = connection;
    this.#kind = kind;
    this.#isLate = isLate;
    this.#committed = committed;
    this.#beforeWrite = beforeWrite;
  }

  /** Whether a statement failed and was not undone since: PostgreSQL takes no other before that. */
  get hasFailed(): boolean {
    return this.#hasFailed;
  }

  /** What it wrote so far, or tried to. */
  get written(): Written {
    return this.#written;
  }

  get hasWritten(): boolean {
    return this.#written === "anything" || this.#written.size > 0;
  }

  /** A statement that was compiled before, with what is known of it. */
  ask<Row>(query: Query<Row>): Promise<Row[]> {
    const { sql, parameters, isRead, isLasting } = query;
    if (!isRead) return this.all<Row>(sql, parameters);
    const lasting = isLasting ? this.#committed?.find(query, this.#written) : undefined;
    if (lasting) return Promise.resolve(lasting);
    const kept = this.#keptOf(query);
    // No row that is still to be written changes an answer that is kept.
    if (!kept?.rows) this.#writeRowsFor(sql, query.sees);
    if (kept) noteAsker(kept, this.#function);
    const rows = (kept?.rows as Promise<readonly Row[]> | undefined) ?? this.#read<Row>(query);
    if (kept && !kept.rows) this.#keep(kept, rows);
    // An array for each: whoever asks may put it in order.
    return this.#unlessLost(rows.then((all) => all.slice()));
  }

  /**
   * Asks for what functions are about to ask for: all of it leaves at once, and its answers are kept.
   *
   * @param prefetch asks before it returns
   */
  askAhead(prefetch: (all: Reader["all"]) => void): void {
    const asked: Asked[] = [];
    this.#ahead = asked;
    prefetch((query) => this.ask(query));
    this.#ahead = undefined;
    sendTogether(asked, (sql, parameters) => this.#connection.all(sql, parameters));
  }

  /** Asks at the end: see `Transactor.last`. */
  last<Row>(query: Query<Row>): Promise<Row[]> {
    const waiting = asked(query);
    this.#last.push(waiting);
    // Whoever waits for it is told.
    waiting.promise.catch(() => {});
    return waiting.promise as Promise<Row[]>;
  }

  /** The end is there. */
  askLast(ask: Reader["all"]): void {
    for (const { query, resolve, reject } of this.#last.splice(0)) ask(query).then(resolve, reject);
  }

  #read<Row>(query: Query<Row>): Promise<readonly Row[]> {
    if (!this.#ahead) return this.#connection.all<Row>(query.sql, query.parameters);
    const waiting = asked(query);
    this.#ahead.push(waiting);
    return waiting.promise as Promise<readonly Row[]>;
  }

  all<Row>(sql: string, parameters: readonly unknown[]): Promise<Row[]> {
    this.#prepareFor(sql);
    const rows = this.#connection.all<Row>(sql, parameters);
    this.#askAnew();
    return this.#unlessLost(rows);
  }

  executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    this.#prepareFor(query.sql);
    const result = this.#connection.executeQuery<Row>(query);
    this.#askAnew();
    return this.#unlessLost(result);
  }

  streamQuery<Row>(query: CompiledQuery, chunkSize: number): AsyncIterableIterator<QueryResult<Row>> {
    return this.#connection.streamQuery<Row>(query, chunkSize);
  }

  /**
   * Stores a row that nothing stands in the way of. Where something does after all, the transaction is lost and may be tried again with no
   * row later than it is asked for.
   */
  later<Row extends StoredRow>(into: LaterWrite<Row>, row: Row): Promise<unknown> {
    const one = into as unknown as LaterWrite;
    // What changes rows comes after what made them, and before what else changes them.
    const before = this.#waysOf.get(into.table);
    if (before && before !== one && (before.merge ?? one.merge)) void this.#sendRows();
    this.#waysOf.set(into.table, one);
    this.#noteWritten(into.table, row);
    this.#rows.push({ into: one, row });
    return this.#isLate ? Promise.resolve() : this.#sendRows();
  }

  /** What functions know together: see `Transactor.known`. */
  known<T>(of: Known<T>): T {
    const known = (this.#known.get(of) as T | undefined) ?? of.create();
    this.#known.set(of, known);
    return known;
  }

  /** Writes what is known of: see `Transactor.changing`. */
  async changing<T, R>(of: Known<T>, write: (known: T) => Promise<R>): Promise<R> {
    const known = this.known(of);
    this.#known.delete(of);
    const epoch = this.#epoch;
    const result = await write(known);
    // Of a function that was given up meanwhile nothing is true.
    if (epoch === this.#epoch) this.#known.set(of, known);
    return result;
  }

  /** Another function begins. */
  begun({ isLast }: { isLast: boolean }): void {
    this.#epoch++;
    this.#function++;
    this.#isLastFunction = isLast;
    this.#rowsBefore = this.#rows.slice();
    this.#lastBefore = this.#last.length;
  }

  /** The function that ran has failed before anything was written: its own later rows are dropped. */
  dropped(): void {
    this.#last.length = Math.min(this.#last.length, this.#lastBefore);
    this.#rows = this.#rowsBefore;
    this.#waysOf = new Map(this.#rows.map(({ into }) => [into.table, into]));
    this.#forgetKnown();
  }

  /** The function that ran was undone, and so were the rows of others that were written meanwhile. */
  undone(): void {
    this.dropped();
    this.#loss = this.#refusal = undefined;
    this.#hasFailed = false;
    this.#undoings++;
    this.forgetAll();
  }

  /** Writes what waits. */
  writeRows(): Promise<unknown> {
    return this.#rows.length === 0 ? Promise.resolve() : this.#sendRows();
  }

  /** Keeps no answer that was got before, and knows nothing. */
  forgetAll(): void {
    this.#kept.clear();
    this.#keptCount = 0;
    this.#forgetKnown();
  }

  #forgetKnown(): void {
    this.#known.clear();
    this.#epoch++;
  }

  #sendRows(): Promise<unknown> {
    this.#beforeWrite();
    const rows = this.#rows;
    this.#rows = [];
    this.#waysOf = new Map();
    const tables = Map.groupBy(rows, ({ into }) => into);
    const undoings = this.#undoings;
    const written = inOrder([...tables.keys()]).map((into) =>
      this.#write(
        into,
        (tables.get(into) ?? []).map(({ row }) => row),
      ).catch((error: unknown) => {
        const mayGo = this.#isLate ? isOfRows(error) : into.mayBeTaken && isTaken(error);
        const failure = mayGo ? new DatabaseFailure("retry", error) : error;
        // What was written for a function that was undone meanwhile is lost to nobody.
        if (this.#isLate && undoings === this.#undoings) this.#loss ??= failure;
        throw failure;
      }),
    );
    const all = Promise.all(written);
    // Whoever asks next is told, and the commit.
    this.#writing = Promise.allSettled([this.#writing, all]);
    return all;
  }

  #write({ statements, columns, merge }: LaterWrite, rows: readonly StoredRow[]): Promise<unknown> {
    if (this.#isLate) {
      const some = merge ? mergedRows(rows, merge) : rows;
      const values = columns.map((column) => some.map((row) => row[column]));
      return this.#connection.all(statements.together, values);
    }
    const writeOne = (row: StoredRow) =>
      this.#connection.all(
        statements.one[this.#kind],
        columns.map((column) => row[column]),
      );
    return Promise.all(rows.map(writeOne));
  }

  /** What a statement may look for is written, and what it makes untrue is forgotten. */
  #prepareFor(sql: string): void {
    this.#writeRowsFor(sql);
    if (/^\s*select\b/i.test(sql)) return;
    this.#beforeWrite();
    const [, deletes, name] = /^\s*(?:insert into|update|(delete) from)\s+"?(\w+)"?(?![\w".])/i.exec(sql) ?? [];
    if (name === undefined || (deletes && TABLES_WITH_DEPENDANTS.has(name))) this.#noteWritten(undefined);
    else this.#noteWritten(name);
  }

  /**
   * @param table undefined where any may have changed
   * @param row where it is no more than this one, which is new
   */
  #noteWritten(table: string | undefined, row?: StoredRow): void {
    if (table === undefined) {
      this.#written = "anything";
      this.forgetAll();
      return;
    }
    if (this.#written !== "anything") this.#written.add(table);
    for (const of of this.#known.keys()) if (of.tables.has(table)) this.#known.delete(of);
    this.#forget(table, row);
  }

  #writeRowsFor(sql: string, sees: Query["sees"] = () => true): void {
    // Of many rows of a few tables: which of those the statement names is looked for once for each table.
    const isNamed = new Map<LaterWrite, boolean>();
    const isNeeded = ({ into, row }: LaterRow) => {
      const named = isNamed.get(into) ?? into.neededBy.some((name) => sql.includes(name));
      isNamed.set(into, named);
      return named && sees(into.table, row);
    };
    if (this.#rows.some(isNeeded)) void this.#sendRows();
  }

  /** Whatever names the table may depend on it. */
  #forget(table: string, row: StoredRow | undefined): void {
    for (const [sql, answers] of this.#kept) {
      if (!sql.includes(table)) continue;
      for (const kept of answers.values()) {
        if (kept.rows === undefined || (row && kept.query.sees?.(table, row, kept.answer) === false)) continue;
        kept.rows = kept.answer = undefined;
        if (!row && kept.askedBy > 1) this.#stale.push(kept);
      }
    }
  }

  /**
   * What each function asks, the next one will ask as well. So it leaves with the statement that made it untrue, and is there by then: of
   * a hundred changes by one user, each would otherwise wait for who the user is.
   */
  #askAnew(): void {
    const stale = this.#stale;
    this.#stale = [];
    if (!this.#isLate || this.#isLastFunction || stale.length > MAX_ASKED_ANEW) return;
    for (const kept of stale) {
      const { sql, parameters } = kept.query;
      this.#keep(kept, this.#connection.all(sql, parameters));
    }
  }

  /** Undefined where it cannot be kept. */
  #keptOf(query: Query): Kept | undefined {
    const key = keyOf(query.parameters);
    if (key === undefined) return undefined;
    const answers = this.#kept.get(query.sql) ?? new Map<string, Kept>();
    const known = answers.get(key);
    if (known || this.#keptCount >= MAX_KEPT_ANSWERS) return known;
    const kept: Kept = { query, rows: undefined, answer: undefined, askedBy: 0, lastAskedBy: 0 };
    this.#kept.set(query.sql, answers.set(key, kept));
    this.#keptCount++;
    return kept;
  }

  #keep(kept: Kept, rows: Promise<Rows>): void {
    kept.rows = rows;
    const settle = (answer?: Rows) => {
      if (kept.rows !== rows) return;
      kept.answer = answer;
      if (answer === undefined || answer.length > MAX_KEPT_ROWS) kept.rows = kept.answer = undefined;
    };
    rows.then(settle, () => settle());
  }

  /** After a failure PostgreSQL says of everything else only that there was one. */
  async #unlessLost<T>(asked: Promise<T>): Promise<T> {
    try {
      return await asked;
    } catch (error) {
      this.#hasFailed = true;
      const isFirst = !isOfAbortedTransaction(error);
      if (isFirst) this.#refusal ??= error;
      await this.#writing;
      throw this.#loss ?? (isFirst ? error : (this.#refusal ?? error));
    }
  }
}

/** One row for all changes to the same. */
function mergedRows(
  rows: readonly StoredRow[],
  { keyOf, merged }: NonNullable<LaterWrite["merge"]>,
): readonly StoredRow[] {
  const byKey = new Map<string, StoredRow>();
  for (const row of rows) {
    const before = byKey.get(keyOf(row));
    byKey.set(keyOf(row), before ? merged(before, row) : row);
  }
  return [...byKey.values()];
}

/** What a row refers to goes before it; what has nothing to do with each other, as it came. */
function inOrder(ways: readonly LaterWrite[]): LaterWrite[] {
  const left = [...ways];
  const ordered: LaterWrite[] = [];
  const isFree = (one: LaterWrite) =>
    !left.some(({ table, neededBy }) => table !== one.table && neededBy.includes(one.table));
  while (left.length > 0) ordered.push(...left.splice(Math.max(0, left.findIndex(isFree)), 1));
  return ordered;
}

function noteAsker(kept: Kept, asker: number): void {
  if (kept.lastAskedBy === asker) return;
  kept.lastAskedBy = asker;
  kept.askedBy++;
}

const isOfRows = (error: unknown): boolean => error instanceof DatabaseFailure && error.kind === "bug";
