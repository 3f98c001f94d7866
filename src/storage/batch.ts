import type { CompiledQuery, QueryResult } from "kysely";
import { MAX_KEPT_ANSWERS, MAX_KEPT_ROWS } from "../kernel/limits.ts";
import type { Connection, DatabaseKind, LaterInsert, Query, StoredRow } from "./engine.ts";
import { DatabaseFailure, isTaken } from "./failure.ts";
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

interface LaterRow {
  into: LaterInsert;
  row: StoredRow;
}

/**
 * What the functions of one transaction share. All of them waited when it was begun, so an answer that one of them got serves the next,
 * until something is written that it may depend on: **kept answers**. And rows that hardly anybody looks for need not be there at once:
 * **later rows** are written together, before whatever may look for them and before the commit.
 *
 * Each call asks the connection before it returns: what is asked one after the other is done in that order.
 */
export class Batch implements Connection {
  readonly #connection: Connection;
  readonly #kind: DatabaseKind;
  readonly #isLate: boolean;
  /** Answers by statement and parameters. */
  readonly #kept = new Map<string, Map<string, Promise<readonly unknown[]>>>();
  #keptCount = 0;
  #rows: LaterRow[] = [];
  /** Those that waited when the function that runs now was begun. */
  #rowsBefore: LaterRow[] = [];
  /** Settles when rows that were sent are written or lost. */
  #writing: Promise<unknown> = Promise.resolve();
  /** Why rows could not be written; the transaction is lost with them, unless that was undone. */
  #loss: unknown;
  /** How often a function was undone. */
  #undoings = 0;
  readonly #committed: KeptReads | undefined;
  #written: Set<string> | "anything" = new Set();

  /**
   * @param isLate whether rows may be written later than they are asked for
   * @param committed answers from before the transaction, true of the tables that it did not write
   */
  constructor(connection: Connection, kind: DatabaseKind, isLate: boolean, committed?: KeptReads) {
    this.#connection = connection;
    this.#kind = kind;
    this.#isLate = isLate;
    this.#committed = committed;
  }

  /** What it wrote so far, or tried to. */
  get written(): Written {
    return this.#written;
  }

  /** A statement that was compiled before, with what is known of it. */
  ask<Row>(query: Query<Row>): Promise<Row[]> {
    const { sql, parameters, isRead, isLasting, sees } = query;
    if (!isRead) return this.all<Row>(sql, parameters);
    const lasting = isLasting ? this.#committed?.find(query, this.#written) : undefined;
    if (lasting) return Promise.resolve(lasting);
    this.#writeRowsFor(sql, sees);
    const key = keyOf(parameters);
    const kept = key === undefined ? undefined : this.#kept.get(sql)?.get(key);
    const asked = (kept as Promise<readonly Row[]> | undefined) ?? this.#connection.all<Row>(sql, parameters);
    if (key !== undefined && !kept) this.#keep(sql, key, asked);
    // An array for each: whoever asks may put it in order.
    return this.#unlessLost(asked.then((rows) => rows.slice()));
  }

  all<Row>(sql: string, parameters: readonly unknown[]): Promise<Row[]> {
    this.#prepareFor(sql);
    return this.#unlessLost(this.#connection.all<Row>(sql, parameters));
  }

  executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    this.#prepareFor(query.sql);
    return this.#unlessLost(this.#connection.executeQuery<Row>(query));
  }

  streamQuery<Row>(query: CompiledQuery, chunkSize: number): AsyncIterableIterator<QueryResult<Row>> {
    return this.#connection.streamQuery<Row>(query, chunkSize);
  }

  /**
   * Stores a row that nothing stands in the way of. Where something does after all, the transaction is lost and may be tried again with no
   * row later than it is asked for.
   */
  later<Row extends StoredRow>(into: LaterInsert<Row>, row: Row): Promise<unknown> {
    this.#noteWritten(into.table);
    this.#rows.push({ into: into as unknown as LaterInsert, row });
    return this.#isLate ? Promise.resolve() : this.#sendRows();
  }

  /** Another function begins. */
  begun(): void {
    this.#rowsBefore = this.#rows.slice();
  }

  /** The function that ran was undone, and so were the rows of others that were written meanwhile. */
  undone(): void {
    this.#rows = this.#rowsBefore;
    this.#loss = undefined;
    this.#undoings++;
    this.forgetAll();
  }

  /** Writes what waits. */
  writeRows(): Promise<unknown> {
    return this.#rows.length === 0 ? Promise.resolve() : this.#sendRows();
  }

  /** Keeps no answer that was got before. */
  forgetAll(): void {
    this.#kept.clear();
    this.#keptCount = 0;
  }

  #sendRows(): Promise<unknown> {
    const rows = this.#rows;
    this.#rows = [];
    // A row goes before those that refer to it.
    const goesBefore = (one: LaterInsert, other: LaterInsert) => Number(one.neededBy.includes(other.table));
    const tables = [...Map.groupBy(rows, ({ into }) => into)].sort(
      ([one], [other]) => goesBefore(other, one) - goesBefore(one, other),
    );
    const undoings = this.#undoings;
    const written = tables.map(([into, some]) =>
      this.#write(
        into,
        some.map(({ row }) => row),
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

  #write({ insert, columns }: LaterInsert, rows: readonly StoredRow[]): Promise<unknown> {
    if (this.#isLate) {
      const values = columns.map((column) => rows.map((row) => row[column]));
      return this.#connection.all(insert.together, values);
    }
    const insertOne = (row: StoredRow) =>
      this.#connection.all(
        insert.one[this.#kind],
        columns.map((column) => row[column]),
      );
    return Promise.all(rows.map(insertOne));
  }

  /** What a statement may look for is written, and what it makes untrue is forgotten. */
  #prepareFor(sql: string): void {
    this.#writeRowsFor(sql);
    if (/^\s*select\b/i.test(sql)) return;
    const [, deletes, name] = /^\s*(?:insert into|update|(delete) from)\s+"?(\w+)"?(?![\w".])/i.exec(sql) ?? [];
    if (name === undefined || (deletes && TABLES_WITH_DEPENDANTS.has(name))) this.#noteWritten(undefined);
    else this.#noteWritten(name);
  }

  /** @param table undefined where any may have changed */
  #noteWritten(table: string | undefined): void {
    if (table === undefined) {
      this.#written = "anything";
      this.forgetAll();
      return;
    }
    if (this.#written !== "anything") this.#written.add(table);
    this.#forget(table);
  }

  #writeRowsFor(sql: string, sees: Query<unknown>["sees"] = () => true): void {
    const isNeeded = ({ into, row }: LaterRow) =>
      into.neededBy.some((name) => sql.includes(name)) && sees(into.table, row);
    if (!this.#rows.some(isNeeded)) return;
    void this.#sendRows();
  }

  /** Whatever names the table may depend on it. */
  #forget(table: string): void {
    for (const [sql, answers] of this.#kept) {
      if (!sql.includes(table)) continue;
      this.#keptCount -= answers.size;
      this.#kept.delete(sql);
    }
  }

  #keep(sql: string, key: string, asked: Promise<readonly unknown[]>): void {
    if (this.#keptCount >= MAX_KEPT_ANSWERS) return;
    const answers = this.#kept.get(sql) ?? new Map<string, Promise<readonly unknown[]>>();
    this.#kept.set(sql, answers.set(key, asked));
    this.#keptCount++;
    const drop = () => {
      if (answers.delete(key) && this.#kept.get(sql) === answers) this.#keptCount--;
    };
    asked.then((rows) => {
      if (rows.length > MAX_KEPT_ROWS) drop();
    }, drop);
  }

  /** After a failure PostgreSQL says of everything else only that there was one. */
  async #unlessLost<T>(asked: Promise<T>): Promise<T> {
    try {
      return await asked;
    } catch (error) {
      await this.#writing;
      throw this.#loss ?? error;
    }
  }
}

const isOfRows = (error: unknown): boolean => error instanceof DatabaseFailure && error.kind === "bug";
