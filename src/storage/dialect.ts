import {
  type DatabaseConnection,
  type Dialect,
  type Driver,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from "kysely";
import type { Connection, DatabaseKind } from "./engine.ts";
import type { Schema } from "./schema.ts";

/** Kysely over connections that are opened and closed elsewhere. Its own transactions are used by the migrator only. */
export function kyselyOn(
  kind: DatabaseKind,
  acquire: () => Promise<DatabaseConnection>,
  release: () => void = () => {},
): Kysely<Schema> {
  return new Kysely<Schema>({ dialect: dialectOn(kind, acquire, release) });
}

function dialectOn(kind: DatabaseKind, acquire: () => Promise<DatabaseConnection>, release: () => void): Dialect {
  const exec = (connection: DatabaseConnection, sql: string) =>
    (connection as Connection).executeQuery({ sql, parameters: [], query: { kind: "RawNode" } } as never);
  const driver: Driver = {
    init: async () => {},
    acquireConnection: acquire,
    beginTransaction: async (connection) =>
      void (await exec(connection, kind === "sqlite" ? "begin immediate" : "begin")),
    commitTransaction: async (connection) => void (await exec(connection, "commit")),
    rollbackTransaction: async (connection) => void (await exec(connection, "rollback")),
    releaseConnection: async () => release(),
    destroy: async () => {},
  };
  return kind === "sqlite"
    ? {
        createAdapter: () => new TransactionalSqliteAdapter(),
        createDriver: () => driver,
        createIntrospector: (db) => new SqliteIntrospector(db),
        createQueryCompiler: () => new SqliteQueryCompiler(),
      }
    : {
        createAdapter: () => new PostgresAdapter(),
        createDriver: () => driver,
        createIntrospector: (db) => new PostgresIntrospector(db),
        createQueryCompiler: () => new PostgresQueryCompiler(),
      };
}

/**
 * SQLite rolls back schema changes like any other, so a crash never leaves a migration half done. A second process waits for this
 * transaction.
 */
class TransactionalSqliteAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}
