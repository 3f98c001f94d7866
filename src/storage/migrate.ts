import { type Kysely, Migrator } from "kysely";
import { kyselyOn } from "./dialect.ts";
import type { Connection, DatabaseKind } from "./engine.ts";
import { translate } from "./failure.ts";
import { migrations } from "./migrations/index.ts";
import { PostgresConnection } from "./postgres.ts";
import { singleClient } from "./postgres-client.ts";
import { connectToOne } from "./postgres-hosts.ts";
import type { Schema } from "./schema.ts";

/** How the tables of a database differ from those of this version, and how they are migrated. */

export const MIGRATIONS_TABLE = "migrations";

/**
 * The name of the mark in the migrations table of a database that is being copied into. No version has a migration of this name, so no
 * server of any version starts on the database before the copy is complete.
 */
export const UNFINISHED_COPY = "unfinished-copy";

/** How to go on with an unfinished copy. */
export const UNFINISHED_COPY_REMEDY = "run the same `keystead copy` again to continue it, or use another database";

export interface SchemaState {
  /** The database has no table of Keystead. */
  isEmpty: boolean;
  /** Migrations that were run by a newer version. */
  unknown: string[];
  /** Migrations that have not run yet. */
  pending: string[];
}

/** Lists the tables, at least the two that show which migrations have run. */
const TABLES: Readonly<Record<DatabaseKind, string>> = {
  sqlite: "select name from sqlite_master where type = 'table'",
  postgres: `select name from unnest(array['installation', '${MIGRATIONS_TABLE}']) as name where to_regclass(name) is not null`,
};

/** Creates nothing. */
export async function schemaState(
  kind: DatabaseKind,
  all: <Row>(sql: string, parameters: readonly unknown[]) => Promise<Row[]>,
): Promise<SchemaState> {
  const namesOf = async (sql: string) => (await all<{ name: string }>(sql, [])).map(({ name }) => name);
  const tables = await namesOf(TABLES[kind]);
  const applied = tables.includes(MIGRATIONS_TABLE) ? await namesOf(`select name from ${MIGRATIONS_TABLE}`) : [];
  return {
    isEmpty: !tables.includes("installation"),
    unknown: applied.filter((name) => !Object.hasOwn(migrations, name)),
    pending: Object.keys(migrations).filter((name) => !applied.includes(name)),
  };
}

interface MigrationGoal {
  /** The last migration to run. */
  name?: string | undefined;
  /** Whether the caller has begun a transaction in which all migrations run. */
  inTransaction?: boolean;
}

/** Without a name, migrates to the newest version. */
export async function migrate(kysely: Kysely<Schema>, kind: DatabaseKind, goal: MigrationGoal = {}): Promise<string[]> {
  const bound = Object.entries(migrations).map(([name, { up }]) => [
    name,
    { up: (db: Kysely<unknown>) => up(db, kind) },
  ]);
  const migrator = new Migrator({
    db: kysely,
    provider: { getMigrations: async () => Object.fromEntries(bound) },
    migrationTableName: MIGRATIONS_TABLE,
    migrationLockTableName: "migrations_lock",
    disableTransactions: goal.inTransaction ?? false,
  });
  const { error, results } = await (goal.name === undefined
    ? migrator.migrateToLatest()
    : migrator.migrateTo(goal.name));
  if (error) throw error;
  return (results ?? []).filter(({ status }) => status === "Success").map(({ migrationName }) => migrationName);
}

/** Migrates on a single connection without a statement timeout, because the lock and the migrations may take long. */
export async function migratePostgres(url: string): Promise<string[]> {
  const client = await connectToOne(url, (one) => singleClient(one, "keystead")).catch((error: unknown) => {
    throw translate(error);
  });
  try {
    // The statements run once, and there may be a pooler in between, so they are not prepared.
    const connection = new PostgresConnection(client);
    return await migrate(
      kyselyOn("postgres", async () => connection),
      "postgres",
    );
  } finally {
    await client.end().catch(() => {});
  }
}

/**
 * Migrates the tables on a connection that the caller opened, in its transaction if it has begun one. Resolves to the names of the
 * migrations that ran.
 */
export async function migrateConnection(kind: DatabaseKind, connection: Connection, name?: string): Promise<string[]> {
  const kysely = kyselyOn(kind, async () => connection);
  return await migrate(kysely, kind, { name, inTransaction: true });
}
