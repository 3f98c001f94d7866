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
import { DatabaseSync } from "node:sqlite";
import type pg from "pg";
import { syncFolder } from "../../kernel/sync-folder.ts";
import { sqliteFileOf } from "../database.ts";
import { DatabaseFailure, translate } from "../failure.ts";
import { MIGRATIONS_TABLE, migrateConnection } from "../migrate.ts";
import { PostgresConnection } from "../postgres.ts";
import { SqliteConnection } from "../sqlite.ts";
import { createForOwner } from "../sqlite-files.ts";
import { BackupProblem } from "./problem.ts";
import { postgresReader, type RowReader, sqliteReader } from "./row-reader.ts";
import {
  checkReferences,
  continueNumbers,
  dropReferences,
  postgresWriter,
  type RowWriter,
  restoreReferences,
  sqliteWriter,
} from "./row-writer.ts";
import { type Piece, type Row, type Table, Tally } from "./rows.ts";
import { asProblem, connectForLong, IDLE_LIMIT } from "./snapshot.ts";
import { FORGET_SERVERS, NOTE_RESTORE } from "./tables.ts";
import type { Progress } from "./write-file.ts";

export interface Contents {
  /** The last migration that had run in the database of origin. */
  schema: string;
  tables: readonly Table[];
  counts: Readonly<Record<string, number>>;
  pieces(): AsyncGenerator<Piece>;
}

/** The target SQLite database could not be written. This does not mean that anything is wrong with the database that was backed up. */
export class PlaceProblem extends BackupProblem {
  constructor(folder: string, failure: DatabaseFailure) {
    super(`the restored database in ${folder} ${failure.reason} (${failure.driverMessage})`, { cause: failure });
  }
}

function asProblemOfPlace(folder: string, error: unknown): BackupProblem {
  const failure = error instanceof BackupProblem ? error : translate(error);
  if (!(failure instanceof DatabaseFailure) || failure.kind !== "unavailable") return asProblem(error);
  return new PlaceProblem(folder, failure);
}

/** The name of a SQLite database while it is being restored; it is renamed when complete. */
export const unfinishedFileOf = (file: string): string => `${file}.restoring`;

/**
 * Checks that a database can be restored there: the target must be a SQLite file that is missing or empty, or a PostgreSQL database without
 * Keystead's tables.
 *
 * @throws BackupProblem
 */
export async function refuseOccupied(url: string): Promise<void> {
  const file = sqliteFileOf(url);
  if (file !== undefined) return refuseOccupiedFile(file);
  if (url.startsWith("sqlite:"))
    throw new BackupProblem("a database in memory keeps nothing; name a file or a PostgreSQL database");
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
 * Loads rows into an empty database of either engine and reads all of them back before anybody can use it; then migrates the tables to this
 * version. The load is atomic: a SQLite file gets its name at the end, and PostgreSQL does everything in one transaction.
 *
 * @throws BackupProblem; nothing is left behind
 */
export async function load(url: string, contents: Contents, onProgress: Progress = () => {}): Promise<void> {
  const file = sqliteFileOf(url);
  await refuseOccupied(url);
  await (file === undefined ? loadPostgres(url, contents, onProgress) : loadSqlite(file, contents, onProgress));
}

/** The database that rows are loaded into. */
interface Target {
  reader: RowReader;
  writer: RowWriter;
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
    await target.writer.insert(table as Table, piece.rows);
    done += piece.rows.length;
    onProgress(done, all);
  }
  for (const each of contents.tables) {
    await compare(each, target.reader.rowsOf(each), tallies.get(each.name) as Tally);
  }
}

/** @throws BackupProblem if the database returns other rows than were written to it */
export async function compare(table: Table, batches: AsyncGenerator<readonly Row[]>, given: Tally): Promise<void> {
  const found = new Tally();
  for await (const rows of batches) for (const row of rows) found.add(row);
  if (found.equals(given)) return;
  throw new BackupProblem(
    `the database returns other rows of ${table.name} than were written: ${found.count} for ${given.count}`,
  );
}

function refuseOccupiedFile(file: string): void {
  const occupied = [file, `${file}-wal`].find((each) => existsSync(each) && statSync(each).size > 0);
  if (occupied === undefined) return;
  throw new BackupProblem(`there is a database already: ${occupied}. The target of a restore must be empty`);
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
    // Nobody uses this file before it is complete and on the disk, so it needs no journal.
    database.exec("pragma journal_mode = off; pragma synchronous = off; pragma temp_store = memory");
    const connection = new SqliteConnection(database);
    await migrateConnection("sqlite", connection, contents.schema);
    database.exec("begin");
    await insertAll({ reader: sqliteReader(database), writer: sqliteWriter(database) }, contents, onProgress);
    database.exec("commit");
    checkReferences(database);
    database.exec("pragma foreign_keys = on");
    await migrateConnection("sqlite", connection);
    connection.exec(FORGET_SERVERS);
    connection.exec(NOTE_RESTORE);
    connection.close();
    sync(unfinished);
    refuseOccupiedFile(file);
    renameSync(unfinished, file);
    syncFolder(dirname(file));
  } catch (error) {
    if (database.isOpen) database.close();
    remove();
    throw asProblemOfPlace(dirname(file), error);
  } finally {
    process.removeListener("exit", remove);
  }
}

/** The path at which a file is or will be created. Symbolic links are followed, even if their target does not exist yet. */
function placeOf(name: string): string {
  try {
    // Throws if the links form a cycle.
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

/** Serializes restores and copies into the same database. */
export const RESTORE_LOCK = "select pg_advisory_xact_lock(hashtextextended('keystead restore', 0))";

async function loadPostgres(url: string, contents: Contents, onProgress: Progress): Promise<void> {
  let open: pg.Client | undefined;
  try {
    const client = await connectForLong(url);
    open = client;
    await client.query(`begin; ${IDLE_LIMIT}`);
    await client.query(RESTORE_LOCK);
    await refuseTables(client);
    const connection = new PostgresConnection(client);
    await migrateConnection("postgres", connection, contents.schema);
    const references = await dropReferences(client);
    await insertAll({ reader: postgresReader(client), writer: postgresWriter(client) }, contents, onProgress);
    await restoreReferences(client, references);
    await continueNumbers(client);
    await migrateConnection("postgres", connection);
    await connection.exec(FORGET_SERVERS);
    await connection.exec(NOTE_RESTORE);
    await client.query({ text: "commit" });
  } catch (error) {
    throw asProblem(error);
  } finally {
    // Closing the connection ends the transaction as well.
    await open?.end().catch(() => {});
  }
}

async function refuseTables(client: pg.Client): Promise<void> {
  const [table] = await tablesInPostgres(client);
  if (table === undefined) return;
  throw new BackupProblem(
    `there is a database already: it has the table ${table}. The target of a restore must be empty`,
  );
}

/** The tables whose existence means that a database is not empty. */
export async function tablesInPostgres(client: pg.Client): Promise<string[]> {
  // Read from the catalog: if `to_regclass` did not find a table once, it does not find it later in the same transaction, after waiting for the one
  // that created it.
  const { rows } = await client.query<{ name: string }>(
    `select tablename as name from pg_tables where schemaname = any(current_schemas(false)) and tablename = any($1::text[])
      order by array_position($1::text[], tablename::text)`,
    [["installation", "organizations", MIGRATIONS_TABLE]],
  );
  return rows.map(({ name }) => name);
}
