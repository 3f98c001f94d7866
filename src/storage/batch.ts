import type { CompiledQuery, QueryResult } from "kysely";
import { MAX_ASKED_ANEW, MAX_KEPT_ANSWERS, MAX_KEPT_ROWS } from "../kernel/limits.ts";
import type { Connection, DatabaseKind, Known, LaterWrite, Query, Reader, StoredRow } from "./engine.ts";
import { DatabaseFailure, isOfAbortedTransaction, isTaken } from "./failure.ts";
import { type Asked, asked, type Rows, sendTogether } from "./gathered.ts";
import { type KeptReads, keyOf, type Written } from "./kept-reads.ts";

/** Tables from which a deletion also deletes rows of other tables. A test derives the list from the schema. */
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
  /** Undefined after a write made it stale. */
  rows: Promise<Rows> | undefined;
  /** The resolved rows, once they have arrived. */
  answer: Rows | undefined;
  /** How many functions asked for it, and which one was the last. */
  askedBy: number;
  lastAskedBy: number;
}

interface LaterRow {
  into: LaterWrite;
  row: StoredRow;
}

/**
 * State that the functions of one transaction share.
 *
 * All of them were waiting when the transaction began, so a query's answer can be reused by the next function until a write may change it:
 * **kept answers**. Rows that are rarely read do not have to be written at once: **later rows** are written together, before any statement
 * that may read them and before the commit. What a function derived from its reads is **known** to the next.
 *
 * Each call sends its statement before it returns, so statements run in the order of the calls.
 */
export class Batch implements Connection {
  readonly #connection: Connection;
  readonly #kind: DatabaseKind;
  readonly #isLate: boolean;
  /** Kept answers by statement and parameters, with the tables that the statement names, as far as that was asked. */
  readonly #kept = new Map<string, { answers: Map<string, Kept>; isNamed: Map<string, boolean> }>();
  /** Answers that several functions asked for and that the statement about to be sent makes stale. */
  #stale: Kept[] = [];
  /** The number of the current function. */
  #function = 0;
  #isLastFunction = false;
  /** While `askAhead` runs: the queries that it will send together. */
  #ahead: Asked[] | undefined;
  #keptCount = 0;
  #rows: LaterRow[] = [];
  /** The `LaterWrite` of each table with waiting rows. */
  #waysOf = new Map<string, LaterWrite>();
  /** The rows that were already waiting when the current function began. */
  #rowsBefore: LaterRow[] = [];
  /** Settles when all rows that were sent are written or have failed. */
  #writing: Promise<unknown> = Promise.resolve();
  /** Why rows could not be written. The transaction fails with it, unless the write is undone. */
  #loss: unknown;
  /** How many functions were undone. */
  #undoings = 0;
  readonly #committed: KeptReads | undefined;
  /** Called before every write. */
  readonly #beforeWrite: () => void;
  #hasFailed = false;
  /** The first failure since the last rollback; later statements fail because of it. */
  #refusal: unknown;
  /** The queries to send at the end. */
  #last: Asked[] = [];
  /** How many of them there were when the current function began. */
  #lastBefore = 0;
  readonly #known = new Map<Known<unknown>, unknown>();
  /** Increases with each function, and whenever everything known becomes invalid. */
  #epoch = 0;
  #written: Set<string> | "anything" = new Set();

  /**
   * @param isLate whether rows may be written later than they are asked for
   * @param committed answers from before the transaction, valid for tables that the transaction has not written
   * @param beforeWrite called before each statement that may write
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

  /** Whether a statement failed since the last rollback. PostgreSQL accepts no other statement before the failure is rolled back. */
  get hasFailed(): boolean {
    return this.#hasFailed;
  }

  /** The tables that it wrote so far, or tried to write. */
  get written(): Written {
    return this.#written;
  }

  get hasWritten(): boolean {
    return this.#written === "anything" || this.#written.size > 0;
  }

  /** Runs a compiled statement. `query` says whether the answer can be kept. */
  ask<Row>(query: Query<Row>): Promise<Row[]> {
    const { sql, parameters, isRead, isLasting } = query;
    if (!isRead) return this.all<Row>(sql, parameters);
    const lasting = isLasting ? this.#committed?.find(query, this.#written) : undefined;
    if (lasting) return Promise.resolve(lasting);
    const kept = this.#keptOf(query);
    // A kept answer is not affected by rows that are still to be written.
    if (!kept?.rows) this.#writeRowsFor(sql, query.sees);
    if (kept) noteAsker(kept, this.#function);
    const rows = (kept?.rows as Promise<readonly Row[]> | undefined) ?? this.#read<Row>(query);
    if (kept && !kept.rows) this.#keep(kept, rows);
    // A separate array for each caller, who may sort it.
    return this.#unlessLost(rows.then((all) => all.slice()));
  }

  /**
   * Sends the queries that functions will need together, and keeps the answers.
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

  /** Runs the query at the end: see `Transactor.last`. */
  last<Row>(query: Query<Row>): Promise<Row[]> {
    const waiting = asked(query);
    this.#last.push(waiting);
    // The caller sees the rejection; this keeps it from counting as unhandled until then.
    waiting.promise.catch(() => {});
    return waiting.promise as Promise<Row[]>;
  }

  /** Sends the queries of `last`, at the end of the transaction. */
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
   * Stores a row that is expected to cause no conflict. If it does, the whole transaction fails and may be retried; then each row is
   * written when it is asked for.
   */
  later<Row extends StoredRow>(into: LaterWrite<Row>, row: Row): Promise<unknown> {
    const one = into as unknown as LaterWrite;
    if (!this.#isLate) return this.#writeAtOnce(one, row);
    // Changes to rows must follow the inserts of those rows, and precede other kinds of changes to the table.
    const before = this.#waysOf.get(into.table);
    if (before && before !== one && (before.merge ?? one.merge)) void this.#sendRows();
    this.#waysOf.set(into.table, one);
    this.#noteWritten(into.table, row);
    this.#rows.push({ into: one, row });
    return Promise.resolve();
  }

  /** If the row cannot be written, only the function that stores it fails. */
  async #writeAtOnce({ table, columns, statements, mayBeTaken }: LaterWrite, row: StoredRow): Promise<unknown> {
    this.#noteWritten(table, row);
    this.#beforeWrite();
    try {
      return await this.#connection.all(
        statements.one[this.#kind],
        columns.map((column) => row[column]),
      );
    } catch (error) {
      throw mayBeTaken && isTaken(error) ? new DatabaseFailure("retry", error) : error;
    }
  }

  /** State that functions share: see `Transactor.known`. */
  known<T>(of: Known<T>): T {
    const known = (this.#known.get(of) as T | undefined) ?? of.create();
    this.#known.set(of, known);
    return known;
  }

  /** Writes tables and updates what is known of them: see `Transactor.changing`. */
  async changing<T, R>(of: Known<T>, write: (known: T) => Promise<R>): Promise<R> {
    const known = this.known(of);
    this.#known.delete(of);
    const epoch = this.#epoch;
    const result = await write(known);
    // If the function was abandoned in the meantime, its result is not valid.
    if (epoch === this.#epoch) this.#known.set(of, known);
    return result;
  }

  /** Called when the next function begins. */
  begun({ isLast }: { isLast: boolean }): void {
    this.#epoch++;
    this.#function++;
    this.#isLastFunction = isLast;
    this.#rowsBefore = this.#rows.slice();
    this.#lastBefore = this.#last.length;
  }

  /** Called when the current function failed before it wrote anything: drops its later rows. */
  dropped(): void {
    this.#last.length = Math.min(this.#last.length, this.#lastBefore);
    this.#rows = this.#rowsBefore;
    this.#waysOf = new Map(this.#rows.map(({ into }) => [into.table, into]));
    this.#forgetKnown();
  }

  /** Called when the current function was rolled back, including rows of other functions that were written during it. */
  undone(): void {
    this.dropped();
    this.#loss = this.#refusal = undefined;
    this.#hasFailed = false;
    this.#undoings++;
    this.forgetAll();
  }

  /** Writes the waiting rows. */
  writeRows(): Promise<unknown> {
    return this.#rows.length === 0 ? Promise.resolve() : this.#sendRows();
  }

  /** Discards all kept answers and everything known. */
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
        const failure = isOfRows(error) ? new DatabaseFailure("retry", error) : error;
        // A failed write for a function that was undone in the meantime does not affect the transaction.
        if (undoings === this.#undoings) this.#loss ??= failure;
        throw failure;
      }),
    );
    const all = Promise.all(written);
    // The next statement and the commit report the failure.
    this.#writing = Promise.allSettled([this.#writing, all]);
    return all;
  }

  #write({ statements, columns, merge }: LaterWrite, rows: readonly StoredRow[]): Promise<unknown> {
    const some = merge ? mergedRows(rows, merge) : rows;
    const values = columns.map((column) => some.map((row) => row[column]));
    return this.#connection.all(statements.together, values);
  }

  /** Writes the rows that the statement may read, and forgets what it may change. */
  #prepareFor(sql: string): void {
    this.#writeRowsFor(sql);
    if (/^\s*select\b/i.test(sql)) return;
    this.#beforeWrite();
    const [, deletes, name] = /^\s*(?:insert into|update|(delete) from)\s+"?(\w+)"?(?![\w".])/i.exec(sql) ?? [];
    if (name === undefined || (deletes && TABLES_WITH_DEPENDANTS.has(name))) this.#noteWritten(undefined);
    else this.#noteWritten(name);
  }

  /**
   * @param table undefined if any table may have changed
   * @param row the row, if the write is only this one new row
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
    // Cached per table: there may be many rows of few tables, and searching the statement's text is slow.
    const isNamed = new Map<LaterWrite, boolean>();
    const isNeeded = ({ into, row }: LaterRow) => {
      const named = isNamed.get(into) ?? into.neededBy.some((name) => sql.includes(name));
      isNamed.set(into, named);
      return named && sees(into.table, row);
    };
    if (this.#rows.some(isNeeded)) void this.#sendRows();
  }

  /** Forgets the answers of all statements whose text contains the table's name. */
  #forget(table: string, row: StoredRow | undefined): void {
    for (const [sql, { answers, isNamed }] of this.#kept) {
      // Searching the statement's text is slow, and each function writes to the same tables.
      const named = isNamed.get(table) ?? sql.includes(table);
      isNamed.set(table, named);
      if (!named) continue;
      for (const kept of answers.values()) {
        if (kept.rows === undefined || (row && kept.query.sees?.(table, row, kept.answer) === false)) continue;
        kept.rows = kept.answer = undefined;
        if (!row && kept.askedBy > 1) this.#stale.push(kept);
      }
    }
  }

  /**
   * A query that every function repeats is sent again right after the statement that made its answer stale, so that the answer is there
   * when the next function asks. Otherwise each of a hundred changes by one user would wait for the look-up of that user.
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

  /** Undefined if the answer cannot be kept. */
  #keptOf(query: Query): Kept | undefined {
    const key = keyOf(query.parameters);
    if (key === undefined) return undefined;
    const ofStatement = this.#kept.get(query.sql) ?? { answers: new Map(), isNamed: new Map() };
    const known = ofStatement.answers.get(key);
    if (known || this.#keptCount >= MAX_KEPT_ANSWERS) return known;
    const kept: Kept = { query, rows: undefined, answer: undefined, askedBy: 0, lastAskedBy: 0 };
    ofStatement.answers.set(key, kept);
    this.#kept.set(query.sql, ofStatement);
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

  /** After a failure, PostgreSQL rejects all other statements with an error that does not say why; this rejects with the original error. */
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

/** Merges all changes to the same row. */
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

/** Sorts tables so that referenced rows are written first; unrelated tables keep their order. */
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
