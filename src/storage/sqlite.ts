import { DatabaseSync, type SQLInputValue, type StatementSync } from "node:sqlite";
import { type CompiledQuery, type QueryResult, SelectQueryNode } from "kysely";
import type { Connection } from "./engine.ts";
import { type DatabaseFailure, isDamaged, isOfFile, translate } from "./failure.ts";
import { createForOwner, isOnReadOnlyDisk } from "./sqlite-files.ts";

const MAX_STATEMENTS = 512;
/** Page cache of each connection. */
const CACHE_KIBIBYTES = 16 * 1024;
/**
 * The write-ahead log is copied into the database after this many pages of 4 KiB. The same pages are written repeatedly, so a longer log
 * means fewer copies.
 */
const CHECKPOINT_PAGES = 8000;

/** How long opening waits for another process that opens, closes or migrates; this process is blocked meanwhile. */
export const OPENING_WAIT_MS = 5000;

/**
 * Opens a file, or `:memory:`. The pragmas keep the file consistent after any crash and check every reference. A commit is durable once the
 * log is synced (`DurableLog`).
 */
export function openSqlite(file: string): SqliteConnection {
  try {
    if (file !== ":memory:") createForOwner(file);
    const database = new DatabaseSync(file, { enableForeignKeyConstraints: true, timeout: OPENING_WAIT_MS });
    database.exec("pragma journal_mode = wal; pragma synchronous = normal; pragma temp_store = memory;");
    database.exec(`pragma cache_size = -${CACHE_KIBIBYTES}; pragma wal_autocheckpoint = ${CHECKPOINT_PAGES};`);
    // The first read opens the log, or creates it.
    database.exec("select 1 from sqlite_master");
    return new SqliteConnection(database);
  } catch (error) {
    throw translateAt(file, error);
  }
}

/** SQLite does not say why a file cannot be written. If the disk is read-only, this adds the system's code to the error. */
function translateAt(file: string | null, error: unknown): unknown {
  if (file !== null && isOfFile(error) && isOnReadOnlyDisk(file)) Object.assign(error as Error, { code: "EROFS" });
  return translate(error);
}

/** One SQLite connection. The calls are synchronous; the promises only match the interface that both databases share. */
export class SqliteConnection implements Connection {
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, Statement>();
  #written = 0;
  /** Called with each failure that shows that the file is damaged. */
  onDamage: (failure: DatabaseFailure) => void = () => {};

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  /** How many statements ran that may write. */
  get written(): number {
    return this.#written;
  }

  /** Changes when another connection has written to the file. */
  dataVersion(): number {
    try {
      const [row] = this.#prepare("pragma data_version").all() as [{ data_version: number }];
      return row.data_version;
    } catch (error) {
      throw this.#failed(error);
    }
  }

  async all<Row>(sql: string, parameters: readonly unknown[]): Promise<Row[]> {
    try {
      return this.#prepare(sql).all(...(parameters as SQLInputValue[])) as Row[];
    } catch (error) {
      throw this.#failed(error);
    }
  }

  async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    const returnsRows = SelectQueryNode.is(query.query) || "returning" in query.query || query.query.kind === "RawNode";
    if (returnsRows) return { rows: await this.all<Row>(query.sql, query.parameters) };
    try {
      const { changes } = this.#prepare(query.sql).run(...(query.parameters as SQLInputValue[]));
      return { rows: [], numAffectedRows: BigInt(changes) };
    } catch (error) {
      throw this.#failed(error);
    }
  }

  /** Runs a statement without parameters or rows, such as BEGIN or SAVEPOINT. */
  exec(sql: string): void {
    try {
      this.#prepare(sql).run();
    } catch (error) {
      throw this.#failed(error);
    }
  }

  /** How long a statement waits for locks of other processes; it blocks the whole process. */
  waitForLocks(ms: number): void {
    this.exec(`pragma busy_timeout = ${ms}`);
  }

  get inTransaction(): boolean {
    return this.#database.isTransaction;
  }

  // biome-ignore lint/correctness/useYield: SQLite has no streaming here, and nothing asks for it
  async *streamQuery<Row>(): AsyncIterableIterator<QueryResult<Row>> {
    throw new Error("streaming is not supported");
  }

  close(): void {
    this.#statements.clear();
    if (this.#database.isOpen) this.#database.close();
  }

  #failed(error: unknown): unknown {
    const failure = translateAt(this.#database.isOpen ? this.#database.location() : null, error);
    if (isDamaged(failure)) this.onDamage(failure as DatabaseFailure);
    return failure;
  }

  /** For a single run of the statement. */
  #prepare(sql: string): StatementSync {
    let known = this.#statements.get(sql);
    if (!known) {
      // Lists of different lengths make ever new statements. Clearing the cache now and then bounds memory.
      if (this.#statements.size >= MAX_STATEMENTS) this.#statements.clear();
      known = { statement: this.#database.prepare(sql), isRead: /^\s*(?:select|pragma data_version)\b/i.test(sql) };
      this.#statements.set(sql, known);
    }
    if (!known.isRead) this.#written++;
    return known.statement;
  }
}

interface Statement {
  statement: StatementSync;
  isRead: boolean;
}
