import type { DatabaseSync, SQLInputValue } from "node:sqlite";
import { setImmediate } from "node:timers/promises";
import type pg from "pg";
import { BackupProblem } from "./problem.ts";
import type { Row, Table } from "./rows.ts";
import { keyNamesOf, namesOf, postgresTypeOf, quoted } from "./tables.ts";

/** Inserts and deletes rows on a connection that is in a transaction. */
export interface RowWriter {
  /** Resolves to how many were not there already. */
  insert(table: Table, rows: readonly Row[]): Promise<number>;
  delete(table: Table, keys: readonly Row[]): Promise<void>;
}

/** Existing rows stay unchanged. If a row was skipped because of another row's unique value, the comparison at the end finds it missing. */
const insertionInto = (table: Table, values: string): string =>
  `insert into ${quoted(table.name)} (${namesOf(table.columns).join(", ")}) ${values} on conflict do nothing`;

/** How many rows are written before other work may run. */
const WRITTEN_AT_ONCE = 256;

export function sqliteWriter(database: DatabaseSync): RowWriter {
  const runEach = async (sql: string, rows: readonly Row[]): Promise<number> => {
    const statement = database.prepare(sql);
    let changes = 0;
    for (const [index, row] of rows.entries()) {
      changes += Number(statement.run(...(row as SQLInputValue[])).changes);
      if (index % WRITTEN_AT_ONCE === WRITTEN_AT_ONCE - 1) await setImmediate();
    }
    await setImmediate();
    return changes;
  };
  return {
    insert: (table, rows) => runEach(insertionInto(table, `values (${table.columns.map(() => "?").join(", ")})`), rows),
    delete: async (table, keys) =>
      void (await runEach(`delete from ${quoted(table.name)} where ${keyNamesOf(table).join(" = ? and ")} = ?`, keys)),
  };
}

export function postgresWriter(client: pg.Client): RowWriter {
  return {
    async insert(table, rows) {
      const types = table.columns.map(({ type }) => postgresTypeOf(type));
      const { rowCount } = await client.query(
        insertionInto(table, `select * from unnest(${listsOf(types)})`),
        columnsOf(types, rows),
      );
      return rowCount ?? 0;
    },
    async delete(table, keys) {
      const names = keyNamesOf(table);
      const types = table.key.map((index) => postgresTypeOf(table.columns[index]?.type ?? "text"));
      await client.query(
        `delete from ${quoted(table.name)} where (${names.join(", ")}) in (select * from unnest(${listsOf(types)}))`,
        columnsOf(types, keys),
      );
    },
  };
}

const listsOf = (types: readonly string[]): string => types.map((type, at) => `$${at + 1}::${type}[]`).join(", ");

const columnsOf = (types: readonly string[], rows: readonly Row[]): unknown[] =>
  types.map((_, index) => rows.map((row) => row[index]));

/** @throws BackupProblem if a reference points to a missing row */
export function checkReferences(database: DatabaseSync): void {
  const [broken] = database.prepare("pragma foreign_key_check").all() as { table: string; parent: string }[];
  if (!broken) return;
  throw new BackupProblem(`a row of ${broken.table} refers to a row of ${broken.parent} that does not exist`);
}

/** A foreign key of PostgreSQL, with its names quoted for SQL. */
export interface Reference {
  table: string;
  name: string;
  definition: string;
}

/** Drops the foreign keys, because rows arrive in any order. */
export async function dropReferences(client: pg.Client): Promise<Reference[]> {
  const { rows } = await client.query<Reference>(
    `select conrelid::regclass::text as table, quote_ident(conname) as name, pg_get_constraintdef(oid) as definition
       from pg_constraint where contype = 'f' and connamespace = current_schema()::regnamespace order by 1, 2`,
  );
  for (const { table, name } of rows) await client.query(`alter table ${table} drop constraint ${name}`);
  return rows;
}

/** Restores the foreign keys, which checks all of them. */
export async function restoreReferences(client: pg.Client, references: readonly Reference[]): Promise<void> {
  for (const { table, name, definition } of references) {
    await client.query(`alter table ${table} add constraint ${name} ${definition}`);
  }
}

/** Rows inserted with explicit numbers do not advance a sequence, so this sets each sequence to continue after the greatest number. */
export async function continueNumbers(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ table: string; column: string }>(
    `select quote_ident(table_name) as table, column_name as column from information_schema.columns
      where table_schema = current_schema() and is_identity = 'YES' order by 1`,
  );
  for (const { table, column } of rows) {
    const next = `(select coalesce(max(${quoted(column)}), 0) + 1 from ${table})`;
    await client.query(`select setval(pg_get_serial_sequence($1, $2), ${next}, false)`, [table, column]);
  }
}
