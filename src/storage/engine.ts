import type { DatabaseConnection, Kysely } from "kysely";
import type { Schema } from "./schema.ts";

export type DatabaseKind = "sqlite" | "postgres";

/** One connection to either kind of database. `all` is the short way for statements that were compiled before. */
export interface Connection extends DatabaseConnection {
  all<Row>(sql: string, parameters: readonly unknown[]): Promise<Row[]>;
}

/** A statement that was compiled before. */
export interface Query<_Row = unknown> {
  readonly sql: string;
  readonly parameters: readonly unknown[];
  /** Whether it reads and does nothing else: within a transaction an equal one has the same answer until something is written. */
  readonly isRead?: boolean;
  /** Whether it is asked with each request and its answer changes seldom; where that can be known, it is kept until it does. */
  readonly isLasting?: boolean | undefined;
  /**
   * The same for several at once, in PostgreSQL: it takes a list of each parameter and says by `asked_as` of each row which place in the
   * lists it is for, from 1 on.
   */
  readonly together?: string | undefined;
  /**
   * Of rows that are still to be written, whether it would find one; any of a table that it names, unless said. Of a row that is only
   * changed there are those columns that tell which it is, and new values. `answer` is what it found before, where that is known.
   */
  readonly sees?: ((table: string, row: StoredRow, answer?: readonly unknown[]) => boolean) | undefined;
}

/** A row by the names of its columns. */
export type StoredRow = Readonly<Record<string, unknown>>;

/** A table whose rows are written together; `laterInsert` and `laterUpdate` make one. */
export interface LaterWrite<Row extends StoredRow = StoredRow> {
  readonly table: string;
  /** What a statement names that needs the rows to be there. */
  readonly neededBy: readonly string[];
  readonly columns: readonly (keyof Row & string)[];
  /** Whether another transaction may have written the same row meanwhile. */
  readonly mayBeTaken: boolean;
  readonly statements: { one: Readonly<Record<DatabaseKind, string>>; together: string };
  /** Of changes to one row, which `keyOf` tells, what they come to; new rows are each another one. */
  readonly merge?: { keyOf: (row: Row) => string; merged: (before: Row, after: Row) => Row } | undefined;
}

/** What the functions of a transaction know of some tables; it is told from others by its identity. */
export interface Known<T> {
  readonly tables: ReadonlySet<string>;
  /** What is known at first. */
  create(): T;
}

/** Reads committed state, or inside a transaction its own. */
export interface Reader {
  readonly kind: DatabaseKind;
  readonly selectFrom: Kysely<Schema>["selectFrom"];
  all<Row>(query: Query<Row>): Promise<Row[]>;
}

/** Reads and writes inside one transaction; it refuses work once the transaction has ended. */
export interface Transactor extends Reader {
  readonly insertInto: Kysely<Schema>["insertInto"];
  readonly updateTable: Kysely<Schema>["updateTable"];
  readonly deleteFrom: Kysely<Schema>["deleteFrom"];
  /**
   * Stores or changes a row where nothing stands in the way of that, when it is looked for or at the end of the transaction. Where something
   * does, the whole transaction is tried again; then it is the error of whoever stored it, unless the table is one whose rows may be taken.
   */
  later<Row extends StoredRow>(into: LaterWrite<Row>, row: Row): Promise<unknown>;
  /**
   * What its functions so far know together, for whoever asks to add to. It is forgotten when one of them is undone, when another scope is
   * locked, and when one of the tables is written outside `changing`.
   */
  known<T>(of: Known<T>): T;
  /** Writes the tables, and says in what is known what they are then. Where that fails everything is forgotten. */
  changing<T, R>(of: Known<T>, write: (known: T) => Promise<R>): Promise<R>;
  /** The committed state of the same database. */
  readonly committed: Reader;
  /**
   * Asks what the database will hold when the transaction has ended; the answer is there after its commit, and never if it fails. On PostgreSQL it
   * leaves with the commit, so that nobody waits for it.
   */
  last<Row>(query: Query<Row>): Promise<Row[]>;
  /**
   * Waits until no other transaction of this scope is under way, beside the one that the transaction itself was begun for. Who locks a
   * second scope locks that of a sub-organization after that of its parent.
   */
  lock(scope: string): Promise<void>;
  /** Has `follow` called once the commit is durable, and never if it fails. It must not throw. */
  afterCommit(follow: () => void): void;
}

/** Reads within a transaction before its functions run: what it makes known is so to all of them. */
export type AheadReader = Reader & Pick<Transactor, "known">;

/** Whether `reader` is one of those that read within a transaction, whose functions know things together. */
export const knowsTogether = (reader: Reader): reader is AheadReader => "known" in reader;

/** Whether `reader` reads inside a transaction, and so what may never be committed. */
export const isTransactor = (reader: Reader): reader is Transactor => "insertInto" in reader;
