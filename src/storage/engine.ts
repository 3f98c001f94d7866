import type { CompiledQuery, DatabaseConnection, Kysely } from "kysely";
import type { Schema } from "./schema.ts";

export type DatabaseKind = "sqlite" | "postgres";

/** One connection to either kind of database. `all` is the short way for statements that were compiled before. */
export interface Connection extends DatabaseConnection {
  all<Row>(sql: string, parameters: readonly unknown[]): Promise<Row[]>;
}

/** Reads committed state, or inside a transaction its own. */
export interface Reader {
  readonly kind: DatabaseKind;
  readonly selectFrom: Kysely<Schema>["selectFrom"];
  all<Row>(query: Pick<CompiledQuery<Row>, "sql" | "parameters">): Promise<Row[]>;
}

/** Reads and writes inside one transaction; it refuses work once the transaction has ended. */
export interface Transactor extends Reader {
  readonly insertInto: Kysely<Schema>["insertInto"];
  readonly updateTable: Kysely<Schema>["updateTable"];
  readonly deleteFrom: Kysely<Schema>["deleteFrom"];
  /** The committed state of the same database. */
  readonly committed: Reader;
  /**
   * Waits until no other transaction of this scope is under way, beside the one that the transaction itself was begun for. Who locks a
   * second scope locks that of a sub-organization after that of its parent.
   */
  lock(scope: string): Promise<void>;
  /** Has `follow` called once the commit is durable, and never if it fails. It must not throw. */
  afterCommit(follow: () => void): void;
}

/** Whether `reader` reads inside a transaction, and so what may never be committed. */
export const isTransactor = (reader: Reader): reader is Transactor => "insertInto" in reader;
