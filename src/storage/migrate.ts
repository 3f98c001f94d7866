import { type Kysely, Migrator } from "kysely";
import pg from "pg";
import { kyselyOn } from "./dialect.ts";
import type { Connection, DatabaseKind } from "./engine.ts";
import { translate } from "./failure.ts";
import { migrations } from "./migrations/index.ts";
import { PostgresConnection } from "./postgres.ts";
import { connectToOne } from "./postgres-hosts.ts";
import { postgresTypes } from "./postgres-pool.ts";
import { POSTGRES_DEFAULTS } from "./postgres-settings.ts";
import type { Schema } from "./schema.ts";

/** How far the tables of a database are from those of this version, and how they are brought there. */

export const MIGRATIONS_TABLE = "migrations";

/**
 * Stands among the migrations of a database that is being copied into, until it is whole. No version has a migration of this name,
 * so none starts on it, whatever it knows of copies.
 */
export const UNFINISHED_COPY = "unfinished-copy";

/** What becomes of it. */
export const UNFINISHED_COPY_REMEDY =
  "run the same keystead copy again, which goes on where it ended, or name another database";

export interface SchemaState {
  /** There is not a single table of ours. */
  isEmpty: boolean;
  /** Migrations that were run by a newer version. */
  unknown: string[];
  /** Migrations that are still to come. */
  pending: string[];
}

/** The names of its tables, or at least of those two that tell how far it is. */
const TABLES: Readonly<Record<DatabaseKind, string>> = {
  sqlite: "select name from sqlite_master where type = 'table'",
  postgres: `select name from unnest(array['installation', '${MIGRATIONS_TABLE}']) as name where to_regclass(name) is not null`,
};

/** Asked without creating anything. */
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
  /** Whether the caller has begun a transaction, which they all belong to. */
  inTransaction?: boolean;
}

/** Without a name it goes to the newest. */
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

/** On one connection, where a lock and the migrations may take their time. */
export async function migratePostgres(url: string): Promise<string[]> {
  const open = (connectionString: string) => {
    const client = new pg.Client({
      connectionString,
      types: postgresTypes as pg.CustomTypesConfig,
      connectionTimeoutMillis: POSTGRES_DEFAULTS.connectTimeoutMs,
      keepAlive: true,
      application_name: "keystead",
    });
    // A connection that breaks fails the statement that is under way; without a listener it would end the process as well.
    client.on("error", () => {});
    return client;
  };
  const client = await connectToOne(url, open).catch((error: unknown) => {
    throw translate(error);
  });
  try {
    // Its statements run once, and a pooler may be between.
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
 * Brings the tables up to a migration on a connection that somebody else opened, in the transaction that it may be in. Resolves to
 * the names of the migrations it ran.
 */
export async function migrateConnection(kind: DatabaseKind, connection: Connection, name?: string): Promise<string[]> {
  const kysely = kyselyOn(kind, async () => connection);
  return await migrate(kysely, kind, { name, inTransaction: true });
}
