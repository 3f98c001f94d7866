import { existsSync, statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import type pg from "pg";
import { sqliteFileOf } from "../database.ts";
import type { DatabaseKind } from "../engine.ts";
import { DatabaseFailure, isOutOfRoom, translate } from "../failure.ts";
import { MIGRATIONS_TABLE, UNFINISHED_COPY, UNFINISHED_COPY_REMEDY } from "../migrate.ts";
import { migrations } from "../migrations/index.ts";
import { singleClient } from "../postgres-client.ts";
import { connectToOne } from "../postgres-hosts.ts";
import { OPENING_WAIT_MS } from "../sqlite.ts";
import { BackupProblem } from "./problem.ts";
import { postgresReader, type RowReader, sqliteReader } from "./row-reader.ts";
import type { Piece, Table } from "./rows.ts";
import { tablesAt } from "./tables.ts";

/** A consistent state of a whole database, regardless of concurrent writes. */
export interface Snapshot {
  readonly kind: DatabaseKind;
  /** The last migration that has run. */
  readonly schema: string;
  /** The values in the table `installation`, by name. */
  readonly installation: ReadonlyMap<string, string>;
  readonly tables: readonly Table[];
  /** Number of rows by table. */
  readonly counts: Readonly<Record<string, number>>;
  readonly reader: RowReader;
  pieces(): AsyncGenerator<Piece>;
  close(): Promise<void>;
}

/**
 * Begins a read transaction on a separate connection. It does not block writers. It stays open until `close`, and the database keeps
 * everything that it could still read: the log of a SQLite database grows, and PostgreSQL removes no dead rows.
 *
 * @throws BackupProblem
 */
export async function openSnapshot(url: string): Promise<Snapshot> {
  const file = sqliteFileOf(url);
  if (file !== undefined) return sqliteSnapshot(file);
  if (url.startsWith("sqlite:")) throw new BackupProblem("a database in memory can be neither backed up nor copied");
  return postgresSnapshot(url);
}

async function sqliteSnapshot(file: string): Promise<Snapshot> {
  // Opening would create it.
  if (!existsSync(file) || statSync(file).size === 0) throw new BackupProblem(`there is no database ${file}`);
  const database = new DatabaseSync(file, { timeout: OPENING_WAIT_MS });
  try {
    database.exec("pragma query_only = on; begin");
    const close = async () => {
      if (database.isOpen) database.close();
    };
    return await snapshotOn("sqlite", sqliteReader(database), close);
  } catch (error) {
    database.close();
    throw asProblem(error);
  }
}

async function postgresSnapshot(url: string): Promise<Snapshot> {
  let client: pg.Client | undefined;
  try {
    client = await connectForLong(url);
    const open = client;
    await open.query(`begin isolation level repeatable read read only; ${IDLE_LIMIT}`);
    return await snapshotOn("postgres", postgresReader(open), () => open.end());
  } catch (error) {
    await client?.end().catch(() => {});
    throw asProblem(error);
  }
}

/** Ends a transaction whose process died. Set for the transaction only, because the session may belong to a pooler. */
export const IDLE_LIMIT = "set local idle_in_transaction_session_timeout = '10min'";

/** A connection for long work, without a time limit on statements. */
export const connectForLong = (url: string): Promise<pg.Client> =>
  connectToOne(url, (one) => singleClient(one, "keystead backup"));

async function snapshotOn(kind: DatabaseKind, reader: RowReader, close: () => Promise<void>): Promise<Snapshot> {
  const schema = await schemaOf(kind, reader);
  const tables = await tablesAt(schema);
  const counts: Record<string, number> = {};
  for (const table of tables) counts[table.name] = await reader.count(table);
  const installation = await reader.all("select name, value from installation");
  return {
    kind,
    schema,
    installation: new Map(installation as unknown as [string, string][]),
    tables,
    counts,
    reader,
    pieces: () => piecesOf(reader, tables),
    close,
  };
}

/** @throws BackupProblem if it is not a database of Keystead, or is one of a newer version */
async function schemaOf(kind: DatabaseKind, reader: RowReader): Promise<string> {
  const exists =
    kind === "sqlite"
      ? `select name from sqlite_master where type = 'table' and name = '${MIGRATIONS_TABLE}'`
      : `select 1 where to_regclass('${MIGRATIONS_TABLE}') is not null`;
  const found = await reader.all(exists);
  const applied =
    found.length === 0
      ? []
      : (await reader.all(`select name from ${MIGRATIONS_TABLE}`)).map(([name]) => name as string);
  if (applied.includes(UNFINISHED_COPY)) {
    throw new BackupProblem(`the database is an unfinished copy: ${UNFINISHED_COPY_REMEDY}`);
  }
  const unknown = applied.filter((name) => !Object.hasOwn(migrations, name));
  if (unknown.length > 0) {
    throw new BackupProblem(
      `the database is of a newer version of Keystead: it has ${unknown.sort().join(", ")}; run this command from that version`,
    );
  }
  const last = applied.sort().at(-1);
  if (last === undefined) throw new BackupProblem("the database is empty");
  return last;
}

export async function* piecesOf(reader: RowReader, tables: readonly Table[]): AsyncGenerator<Piece> {
  for (const table of tables) {
    yield { table };
    for await (const rows of reader.rowsOf(table)) yield { rows };
  }
}

/** Turns errors of the database into problems for the operator. */
export function asProblem(error: unknown): BackupProblem {
  if (error instanceof BackupProblem) return error;
  const failure = translate(error);
  const message = failure instanceof DatabaseFailure ? failure.driverMessage : (failure as Error).message;
  const trouble = isOutOfRoom(failure) ? "has no room left on its disk" : "does not work";
  return new BackupProblem(`the database ${trouble}: ${message}`, { cause: error });
}
