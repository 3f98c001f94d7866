import {
  closeSync,
  existsSync,
  fsyncSync,
  lstatSync,
  openSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { dirname, resolve } from "node:path";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import { setImmediate } from "node:timers/promises";
import type pg from "pg";
import { syncFolder } from "../../kernel/sync-folder.ts";
import { MIGRATIONS_TABLE, migrateConnection, sqliteFileOf } from "../database.ts";
import { PostgresConnection } from "../postgres.ts";
import { SqliteConnection } from "../sqlite.ts";
import { createForOwner } from "../sqlite-files.ts";
import { BackupProblem } from "./problem.ts";
import { type Piece, type Row, type Table, Tally } from "./rows.ts";
import { asProblem, connectForLong, IDLE_LIMIT, postgresReader, type RowReader, sqliteReader } from "./snapshot.ts";
import { quoted } from "./tables.ts";
import type { Progress } from "./write-file.ts";

export interface Contents {
  /** The last migration that had run where the rows come from. */
  schema: string;
  tables: readonly Table[];
  counts: Readonly<Record<string, number>>;
  pieces(): AsyncGenerator<Piece>;
}

/** Of a SQLite database that is being restored: it takes its name once it is whole. */
export const unfinishedFileOf = (file: string): string => `${file}.restoring`;

/**
 * Whether a database can be put there: a SQLite file that is missing or has no content, or a PostgreSQL database without our
 * tables.
 *
 * @throws BackupProblem
 */
export async function refuseOccupied(url: string): Promise<void> {
  const file = sqliteFileOf(url);
  if (file !== undefined) return refuseOccupiedFile(file);
  if (url.startsWith("sqlite:"))
    throw new BackupProblem("a database in memory keeps nothing: name a file, or PostgreSQL");
  let client: pg.Client | undefined;
  try {
    client = await connectForLong(url);
    await refuseTables(client);
  } catch (error) {
    throw asProblem(error);
  } finally {
    await client?.end().catch(() => {});
  }
}

/**
 * Puts rows into an empty place, of either engine, and reads them all again before anybody can use them; then brings the
 * tables up to this version. It happens as a whole or not at all: in a file that takes its name at the end, or in one transaction.
 *
 * @throws BackupProblem; nothing was left then
 */
export async function load(url: string, contents: Contents, onProgress: Progress = () => {}): Promise<void> {
  const file = sqliteFileOf(url);
  await refuseOccupied(url);
  await (file === undefined ? loadPostgres(url, contents, onProgress) : loadSqlite(file, contents, onProgress));
}

/** What rows are put into. */
interface Target {
  reader: RowReader;
  insert(table: Table, rows: readonly Row[]): Promise<void>;
}

async function insertAll(target: Target, contents: Contents, onProgress: Progress): Promise<void> {
  const all = Object.values(contents.counts).reduce((sum, count) => sum + count, 0);
  const tallies = new Map(contents.tables.map(({ name }) => [name, new Tally()]));
  let table: Table | undefined;
  let done = 0;
  for await (const piece of contents.pieces()) {
    if ("table" in piece) {
      table = piece.table;
      continue;
    }
    const tally = tallies.get((table as Table).name) as Tally;
    for (const row of piece.rows) tally.add(row);
    await target.insert(table as Table, piece.rows);
    done += piece.rows.length;
    onProgress(done, all);
  }
  for (const each of contents.tables) await compare(target.reader, each, tallies.get(each.name) as Tally);
}

/** @throws BackupProblem if the database gives other rows than it was given */
async function compare(reader: RowReader, table: Table, given: Tally): Promise<void> {
  const found = new Tally();
  for await (const rows of reader.rowsOf(table)) for (const row of rows) found.add(row);
  if (found.equals(given)) return;
  throw new BackupProblem(
    `the database gives other rows of ${table.name} than it was given: ${found.count} for ${given.count}`,
  );
}

function refuseOccupiedFile(file: string): void {
  const occupied = [file, `${file}-wal`].find((each) => existsSync(each) && statSync(each).size > 0);
  if (occupied === undefined) return;
  throw new BackupProblem(`there is a database already: ${occupied}. Only an empty place is restored to`);
}

async function loadSqlite(name: string, contents: Contents, onProgress: Progress): Promise<void> {
  const file = placeOf(name);
  const unfinished = unfinishedFileOf(file);
  removeSqlite(unfinished);
  createForOwner(unfinished);
  const remove = () => removeSqlite(unfinished);
  process.once("exit", remove);
  const database = new DatabaseSync(unfinished, { enableForeignKeyConstraints: false });
  try {
    // Nobody uses this file before it is whole and on the disk, so it needs no log.
    database.exec("pragma journal_mode = off; pragma synchronous = off; pragma temp_store = memory");
    const connection = new SqliteConnection(database);
    await migrateConnection("sqlite", connection, contents.schema);
    database.exec("begin");
    await insertAll({ reader: sqliteReader(database), insert: inserterInto(database) }, contents, onProgress);
    database.exec("commit");
    checkReferences(database);
    database.exec("pragma foreign_keys = on");
    await migrateConnection("sqlite", connection);
    connection.close();
    sync(unfinished);
    refuseOccupiedFile(file);
    renameSync(unfinished, file);
    syncFolder(dirname(file));
  } catch (error) {
    if (database.isOpen) database.close();
    remove();
    throw asProblem(error);
  } finally {
    process.removeListener("exit", remove);
  }
}

/** Where a file is, or is made: a link stays one, and leads there also where nothing is there yet. */
function placeOf(name: string): string {
  try {
    // Throws where links lead round in a circle.
    if (statSync(name, { throwIfNoEntry: false })) return realpathSync(name);
    let file = resolve(name);
    while (lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink()) {
      file = resolve(realpathSync(dirname(file)), readlinkSync(file));
    }
    return file;
  } catch (error) {
    throw asProblem(error);
  }
}

function inserterInto(database: DatabaseSync): Target["insert"] {
  let prepared: { table: Table; insert: (row: Row) => void } | undefined;
  return async (table, rows) => {
    if (prepared?.table !== table) {
      const marks = table.columns.map(() => "?").join(", ");
      const statement = database.prepare(`insert into ${quoted(table.name)} (${namesOf(table)}) values (${marks})`);
      prepared = { table, insert: (row) => void statement.run(...(row as SQLInputValue[])) };
    }
    for (const row of rows) prepared.insert(row);
    await setImmediate();
  };
}

function checkReferences(database: DatabaseSync): void {
  const [broken] = database.prepare("pragma foreign_key_check").all() as { table: string; parent: string }[];
  if (!broken) return;
  throw new BackupProblem(`a row of ${broken.table} refers to a row of ${broken.parent} that is not there`);
}

function sync(file: string): void {
  const descriptor = openSync(file, "r+");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

export function removeSqlite(file: string): void {
  for (const suffix of ["", "-journal", "-wal", "-shm"]) rmSync(file + suffix, { force: true });
}

const namesOf = ({ columns }: Table): string => columns.map(({ name }) => quoted(name)).join(", ");

const postgresTypeOf = { text: "text", integer: "bigint", bytes: "bytea" } as const;

/** Two that restore into one database come one after the other. */
const LOCK = "select pg_advisory_xact_lock(hashtextextended('keystead restore', 0))";

async function loadPostgres(url: string, contents: Contents, onProgress: Progress): Promise<void> {
  let open: pg.Client | undefined;
  try {
    const client = await connectForLong(url);
    open = client;
    await client.query(`begin; ${IDLE_LIMIT}`);
    await client.query(LOCK);
    await refuseTables(client);
    const connection = new PostgresConnection(client);
    await migrateConnection("postgres", connection, contents.schema);
    const restoreReferences = await withoutReferences(client);
    await insertAll(
      { reader: postgresReader(client), insert: (table, rows) => insert(client, table, rows) },
      contents,
      onProgress,
    );
    await restoreReferences();
    await continueNumbers(client);
    await migrateConnection("postgres", connection);
    await client.query({ text: "commit" });
  } catch (error) {
    throw asProblem(error);
  } finally {
    // It ends the transaction as well.
    await open?.end().catch(() => {});
  }
}

async function refuseTables(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ name: string }>(
    "select name from unnest($1::text[]) as name where to_regclass(name) is not null",
    [["installation", "organizations", MIGRATIONS_TABLE]],
  );
  if (rows.length === 0) return;
  throw new BackupProblem(
    `there is a database already: it has the table ${rows[0]?.name}. Only an empty place is restored to`,
  );
}

async function insert(client: pg.Client, table: Table, rows: readonly Row[]): Promise<void> {
  const lists = table.columns.map(({ type }, index) => `$${index + 1}::${postgresTypeOf[type]}[]`).join(", ");
  const values = table.columns.map((_, index) => rows.map((row) => row[index]));
  const text = `insert into ${quoted(table.name)} (${namesOf(table)}) select * from unnest(${lists})`;
  await client.query(text, values);
}

/** Rows that were given their numbers move no sequence: the next one follows on the greatest of them. */
async function continueNumbers(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ table: string; column: string }>(
    `select quote_ident(table_name) as table, column_name as column from information_schema.columns
      where table_schema = current_schema() and is_identity = 'YES' order by 1`,
  );
  for (const { table, column } of rows) {
    const next = `(select coalesce(max(${quoted(column)}), 0) + 1 from ${table})`;
    await client.query(`select setval(pg_get_serial_sequence($1, $2), ${next}, false)`, [table, column]);
  }
}

/** Takes the references from the tables, as rows come in any order; what it resolves to puts them back, and checks them all. */
async function withoutReferences(client: pg.Client): Promise<() => Promise<void>> {
  const { rows } = await client.query<{ table: string; name: string; definition: string }>(
    `select conrelid::regclass::text as table, quote_ident(conname) as name, pg_get_constraintdef(oid) as definition
       from pg_constraint where contype = 'f' and connamespace = current_schema()::regnamespace order by 1, 2`,
  );
  for (const { table, name } of rows) await client.query(`alter table ${table} drop constraint ${name}`);
  return async () => {
    for (const { table, name, definition } of rows) {
      await client.query(`alter table ${table} add constraint ${name} ${definition}`);
    }
  };
}
