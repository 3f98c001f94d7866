import { DatabaseSync } from "node:sqlite";
import { RESTORED_SINCE } from "../installation-rows.ts";
import { MIGRATIONS_TABLE, migrateConnection } from "../migrate.ts";
import { migrations } from "../migrations/index.ts";
import { SqliteConnection } from "../sqlite.ts";
import { BackupProblem } from "./problem.ts";
import type { Column, ColumnType, Table } from "./rows.ts";

/**
 * The tables that exist after a migration has run, in the order of their names. Backups and databases are checked against this list and are
 * never asked which tables they have.
 *
 * @throws BackupProblem if this version does not have the migration
 */
export async function tablesAt(migration: string): Promise<Table[]> {
  if (!Object.hasOwn(migrations, migration)) {
    throw new BackupProblem(
      `it is of a newer version of Keystead: this one does not know its schema ${migration}; use the version that wrote it, or a newer one`,
    );
  }
  const database = new DatabaseSync(":memory:");
  try {
    await migrateConnection("sqlite", new SqliteConnection(database), migration);
    const names = database.prepare(
      "select name from sqlite_master where type = 'table' and name not like 'sqlite_%' and name not in (?, ?) order by name",
    );
    const info = database.prepare("select name, type, pk from pragma_table_info(?) order by name");
    return (names.all(...OWN_TABLES) as { name: string }[]).map(({ name }) => {
      const columns = info.all(name) as { name: string; type: string; pk: number }[];
      const inKey = [...columns.entries()].filter(([, { pk }]) => pk > 0);
      return {
        name,
        columns: columns.map((column) => ({ name: column.name, type: typeOf(column.type) })),
        key: inKey.sort(([, one], [, other]) => one.pk - other.pk).map(([index]) => index),
      };
    });
  } finally {
    database.close();
  }
}

/** Removes the list of running servers, because none of them runs on the copy. For a database that was migrated to this version. */
export const FORGET_SERVERS = "delete from servers";

/** Has the first server that starts on the restored database note when that was (docs/adr/0171-requests-from-before-a-restore.md). */
export const NOTE_RESTORE = `insert into installation (name, value) values ('${RESTORED_SINCE}', '') on conflict (name) do update set value = ''`;

/** The tables of the migrator, which migrating creates in every database. */
const OWN_TABLES = [MIGRATIONS_TABLE, `${MIGRATIONS_TABLE}_lock`];

function typeOf(sqliteType: string): ColumnType {
  const name = sqliteType.toLowerCase();
  if (name === "text") return "text";
  return name === "blob" ? "bytes" : "integer";
}

/** Quotes an identifier for both engines. Keystead's identifiers contain no quotes. */
export const quoted = (name: string): string => `"${name}"`;

export const namesOf = (columns: readonly Column[]): string[] => columns.map(({ name }) => quoted(name));

export const keyNamesOf = ({ columns, key }: Table): string[] => key.map((index) => namesOf(columns)[index] as string);

export const postgresTypeOf = (type: ColumnType): string => ({ text: "text", integer: "bigint", bytes: "bytea" })[type];
