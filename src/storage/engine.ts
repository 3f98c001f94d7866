import type { DatabaseConnection, Kysely } from "kysely";
import type { Schema } from "./schema.ts";

export type DatabaseKind = "sqlite" | "postgres";

/** A connection to either kind of database. `all` is the short way for compiled statements. */
export interface Connection extends DatabaseConnection {
  all<Row>(sql: string, parameters: readonly unknown[]): Promise<Row[]>;
}

/** A compiled statement. */
export interface Query<_Row = unknown> {
  readonly sql: string;
  readonly parameters: readonly unknown[];
  /** Whether it only reads. Within a transaction an equal query then has the same answer until something is written. */
  readonly isRead?: boolean;
  /** Whether it runs with each request and its answer rarely changes. If the database can tell when that happens, the answer is kept until then. */
  readonly isLasting?: boolean | undefined;
  /**
   * On PostgreSQL, the same query for several callers at once: each parameter becomes a list, and `asked_as` of each row is the position in
   * the lists, from 1 on, that the row answers.
   */
  readonly together?: string | undefined;
  /**
   * Whether the query would find a row that is still to be written. If absent, it is assumed to find any row of a table that it names. A
   * row that is only changed has the columns that identify it and the new values. `answer` is the query's previous answer, if known.
   */
  readonly sees?: ((table: string, row: StoredRow, answer?: readonly unknown[]) => boolean) | undefined;
}

/** A row, by column name. */
export type StoredRow = Readonly<Record<string, unknown>>;

/** A table whose rows are written together; created by `laterInsert` and `laterUpdate`. */
export interface LaterWrite<Row extends StoredRow = StoredRow> {
  readonly table: string;
  /** Names whose presence in a statement means that it needs the rows to be written first. */
  readonly neededBy: readonly string[];
  readonly columns: readonly (keyof Row & string)[];
  /** Whether another transaction may have written the same row in the meantime. */
  readonly mayBeTaken: boolean;
  readonly statements: { one: Readonly<Record<DatabaseKind, string>>; together: string };
  /** Combines changes to the same row, which `keyOf` identifies. Inserted rows are never combined. */
  readonly merge?: { keyOf: (row: Row) => string; merged: (before: Row, after: Row) => Row } | undefined;
}

/** What the functions of a transaction know of some tables. Identified by the object itself. */
export interface Known<T> {
  readonly tables: ReadonlySet<string>;
  /** The initial value. */
  create(): T;
}

/** Reads committed state or, inside a transaction, the transaction's own. */
export interface Reader {
  readonly kind: DatabaseKind;
  readonly selectFrom: Kysely<Schema>["selectFrom"];
  all<Row>(query: Query<Row>): Promise<Row[]>;
}

/** Reads and writes inside one transaction. Rejects work once the transaction has ended. */
export interface Transactor extends Reader {
  readonly insertInto: Kysely<Schema>["insertInto"];
  readonly updateTable: Kysely<Schema>["updateTable"];
  readonly deleteFrom: Kysely<Schema>["deleteFrom"];
  /**
   * Stores or changes a row that is expected to cause no conflict; it is written when a statement needs it or at the end of the
   * transaction. If there is a conflict, the whole transaction is retried; if it happens again, the function that stored the row fails,
   * unless the table allows rows to be taken (`mayBeTaken`).
   */
  later<Row extends StoredRow>(into: LaterWrite<Row>, row: Row): Promise<unknown>;
  /**
   * State that the functions of the transaction share; callers may add to it. It is discarded when a function is undone, when another scope
   * is locked, and when one of the tables is written outside `changing`.
   */
  known<T>(of: Known<T>): T;
  /** Writes the tables and updates the shared state to match. If that fails, everything known is discarded. */
  changing<T, R>(of: Known<T>, write: (known: T) => Promise<R>): Promise<R>;
  /** Reads the committed state of the same database. */
  readonly committed: Reader;
  /**
   * Reads the state that the transaction leaves behind. Resolves after the commit, and never if the commit fails. On PostgreSQL the query
   * is sent with the commit and costs no extra round trip.
   */
  last<Row>(query: Query<Row>): Promise<Row[]>;
  /**
   * Waits until no other transaction of this scope is running, in addition to the scope with which the transaction began. To avoid
   * deadlocks, lock a parent before its sub-organization.
   */
  lock(scope: string): Promise<void>;
  /** Calls `follow` once the commit is durable, and never if it fails. It must not throw. */
  afterCommit(follow: () => void): void;
}

/** Reads within a transaction before its functions run. What it makes known is known to all of them. */
export type AheadReader = Reader & Pick<Transactor, "known">;

/** Whether `reader` reads within a transaction whose functions share what they know. */
export const knowsTogether = (reader: Reader): reader is AheadReader => "known" in reader;

/** Whether `reader` reads inside a transaction, and therefore may see state that is never committed. */
export const isTransactor = (reader: Reader): reader is Transactor => "insertInto" in reader;
