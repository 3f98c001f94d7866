import { createHash } from "node:crypto";
import type { CompiledQuery, QueryResult } from "kysely";
import pg from "pg";
import type { Connection } from "./engine.ts";
import { DatabaseFailure, isStaleStatement, translate } from "./failure.ts";
import type { OutagePatience } from "./outage.ts";

const INT8 = 20;
/** Our 64-bit integers are milliseconds and counts, all below 2^53. */
const types = {
  getTypeParser: (oid: number, format?: "text" | "binary") =>
    oid === INT8 ? Number : pg.types.getTypeParser(oid, format as "text"),
};

export interface PostgresOptions {
  url: string;
  maxConnections: number;
  /** How long one statement may take, and how long its answer may stay away; without it both have no end. */
  statementTimeoutMs?: number;
  /** How long a connection may take to come about; five seconds unless said. */
  connectTimeoutMs?: number;
  /** Told of connections that break while nobody uses them. */
  onError: (error: Error) => void;
}

export function openPostgres(options: PostgresOptions): pg.Pool {
  const { url, maxConnections, statementTimeoutMs, connectTimeoutMs = 5000, onError } = options;
  const pool = new pg.Pool({
    connectionString: url,
    max: maxConnections,
    types: types as pg.CustomTypesConfig,
    connectionTimeoutMillis: connectTimeoutMs,
    idleTimeoutMillis: 60_000,
    keepAlive: true,
    // What is asked on one connection is sent at once and answered in order.
    pipeline: true,
    application_name: "keystead",
    ...(statementTimeoutMs === undefined
      ? {}
      : // The server keeps the first; the second also ends the wait for a server that hangs.
        { statement_timeout: statementTimeoutMs, query_timeout: statementTimeoutMs }),
    // A transaction that lost its server must not keep its locks.
    idle_in_transaction_session_timeout: 60_000,
  });
  pool.on("error", onError);
  // The pool listens to idle connections alone, and one that breaks in use would end the process; its query tells of it.
  pool.on("connect", (client) => client.on("error", () => {}));
  return pool;
}

/** Runs statements on the pool, each wherever there is room, or on one connection, in the order of asking. */
export class PostgresConnection implements Connection {
  readonly #client: pg.ClientBase | pg.Pool;

  constructor(client: pg.ClientBase | pg.Pool) {
    this.#client = client;
  }

  /** Runs statements without parameters or rows: BEGIN, SAVEPOINT and the like. */
  async exec(sql: string): Promise<void> {
    try {
      await this.#client.query({ text: sql });
    } catch (error) {
      throw translate(error);
    }
  }

  async all<Row>(sql: string, parameters: readonly unknown[]): Promise<Row[]> {
    const name = statementName(sql);
    try {
      return (await this.#client.query({ name, text: sql, values: parameters as unknown[] })).rows as Row[];
    } catch (error) {
      if (isStaleStatement(error as Error)) renameStatements(sql, name);
      throw translate(error);
    }
  }

  async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    try {
      const result = await this.#client.query({ text: query.sql, values: query.parameters as unknown[] });
      return { rows: result.rows as Row[], numAffectedRows: BigInt(result.rowCount ?? 0) };
    } catch (error) {
      throw translate(error);
    }
  }

  // biome-ignore lint/correctness/useYield: nothing streams
  async *streamQuery<Row>(): AsyncIterableIterator<QueryResult<Row>> {
    throw new Error("streaming is not supported");
  }
}

/** Reads outside transactions, which can be repeated whatever became of them. */
export class PatientReads implements Connection {
  readonly #connection: PostgresConnection;
  readonly #patience: OutagePatience;

  constructor(connection: PostgresConnection, patience: OutagePatience) {
    this.#connection = connection;
    this.#patience = patience;
  }

  all<Row>(sql: string, parameters: readonly unknown[]): Promise<Row[]> {
    return this.#repeat(() => this.#connection.all<Row>(sql, parameters));
  }

  executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    return this.#repeat(() => this.#connection.executeQuery<Row>(query));
  }

  streamQuery<Row>(): AsyncIterableIterator<QueryResult<Row>> {
    return this.#connection.streamQuery<Row>();
  }

  #repeat<T>(read: () => Promise<T>): Promise<T> {
    return this.#patience.through(async () => {
      try {
        return await read();
      } catch (error) {
        const isStale = error instanceof DatabaseFailure && error.kind === "retry";
        if (!isStale) throw error;
        return read();
      }
    });
  }
}

const names = new Map<string, string>();
let generation = 0;

/** A stable name, so that PostgreSQL plans a prepared statement once per connection. */
function statementName(sql: string): string {
  const known = names.get(sql);
  if (known) return known;
  const hash = createHash("sha256").update(sql).digest("hex").slice(0, 24);
  const name = `k${generation}_${hash}`;
  names.set(sql, name);
  return name;
}

/** Has every connection prepare its statements anew, once for all that fail together: a migration changed tables under them. */
function renameStatements(sql: string, failed: string): void {
  if (names.get(sql) !== failed) return;
  generation++;
  names.clear();
}
