import { randomUUID } from "node:crypto";
import { realpathSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { syncFolder } from "../../kernel/sync-folder.ts";
import { sqliteFileOf } from "../database.ts";
import type { Connection, DatabaseKind } from "../engine.ts";
import { ROOT_KEY_ID } from "../installation-rows.ts";
import { MIGRATIONS_TABLE, migrateConnection, UNFINISHED_COPY } from "../migrate.ts";
import { PostgresConnection } from "../postgres.ts";
import { OPENING_WAIT_MS, SqliteConnection } from "../sqlite.ts";
import { createForOwner } from "../sqlite-files.ts";
import { RESTORE_LOCK, tablesInPostgres } from "./load.ts";
import { installationIdOf } from "./manifest.ts";
import { BackupProblem } from "./problem.ts";
import { postgresReader, type RowReader, sqliteReader } from "./row-reader.ts";
import {
  checkReferences,
  continueNumbers,
  dropReferences,
  postgresWriter,
  type Reference,
  type RowWriter,
  restoreReferences,
  sqliteWriter,
} from "./row-writer.ts";
import { connectForLong, IDLE_LIMIT, type Snapshot } from "./snapshot.ts";
import { FORGET_SERVERS, NOTE_RESTORE } from "./tables.ts";

/** Another copy into the same target took over from this one, or finished it. */
export class Overtaken extends BackupProblem {}

/**
 * A database that is being copied into. The copy may take several runs. The mark of an unfinished copy is written in the same transaction
 * as the tables and the rows that identify the installation, before any other row. It is removed in the transaction that completes the
 * database.
 */
export class CopyTarget {
  readonly #session: Session;
  /** Identifies this run in the mark. A later run overwrites it with its own. */
  readonly #run = `${new Date().toISOString()} ${randomUUID()}`;
  #begun: string | undefined;

  private constructor(session: Session) {
    this.#session = session;
  }

  /** @throws BackupProblem, with nothing written, if the target is neither empty nor an unfinished copy of the same installation */
  static async open(url: string, source: Snapshot): Promise<CopyTarget> {
    const file = sqliteFileOf(url);
    if (file === undefined && url.startsWith("sqlite:"))
      throw new BackupProblem("a database in memory keeps nothing; name a file or a PostgreSQL database");
    const session = await (file === undefined ? openPostgres(url) : openSqlite(file));
    try {
      const target = new CopyTarget(session);
      await target.#look(source);
      await session.prepare();
      await target.#transaction(() => target.#claim(source));
      return target;
    } catch (error) {
      await session.close();
      throw error;
    }
  }

  /** When the previous run began; undefined for the first run. */
  get begun(): string | undefined {
    return this.#begun;
  }

  get reader(): RowReader {
    return this.#session.reader;
  }

  /**
   * Writes in a separate transaction.
   *
   * @throws Overtaken
   */
  write<T>(work: (writer: RowWriter) => Promise<T>): Promise<T> {
    return this.#transaction(async () => {
      await this.#refuseOvertaken();
      return await work(this.#session.writer);
    });
  }

  /**
   * Checks the references, migrates the tables to this version, and removes the mark.
   *
   * @param isRestore whether the source may have been used after it was read
   * @throws BackupProblem, Overtaken
   */
  async finish({ isRestore = false } = {}): Promise<void> {
    const { kind, connection, exec, beforeEnd, atEnd } = this.#session;
    await beforeEnd();
    await this.#transaction(async () => {
      await this.#refuseOvertaken();
      await atEnd();
      await exec(`delete from ${MIGRATIONS_TABLE} where name = '${UNFINISHED_COPY}'`);
      await migrateConnection(kind, connection);
      await exec(FORGET_SERVERS);
      if (isRestore) await exec(NOTE_RESTORE);
    });
  }

  close(): Promise<void> {
    return this.#session.close();
  }

  async #claim(source: Snapshot): Promise<void> {
    const { kind, connection, exec, writer, lock, atBeginning } = this.#session;
    await lock();
    this.#begun = await this.#look(source);
    if (this.#begun !== undefined) {
      await exec(`update ${MIGRATIONS_TABLE} set timestamp = '${this.#run}' where name = '${UNFINISHED_COPY}'`);
      return;
    }
    const made = await migrateConnection(kind, connection, source.schema);
    // A server that started after the first check has created its tables since.
    if (made.length === 0) throw occupied(["installation"]);
    await atBeginning();
    const installation = source.tables.find(({ name }) => name === "installation");
    if (installation)
      for await (const rows of source.reader.rowsOf(installation)) await writer.insert(installation, rows);
    await exec(`insert into ${MIGRATIONS_TABLE} (name, timestamp) values ('${UNFINISHED_COPY}', '${this.#run}')`);
  }

  /** Resolves to when the unfinished copy that this run continues was begun; to undefined if the target is empty. */
  async #look(source: Snapshot): Promise<string | undefined> {
    const { reader, tables } = this.#session;
    const found = await tables();
    if (found.length === 0) return undefined;
    if (!found.includes(MIGRATIONS_TABLE)) throw occupied(found);
    const migrations = await reader.all(`select name, timestamp from ${MIGRATIONS_TABLE} order by name`);
    const marks = new Map(migrations as unknown as [string, string][]);
    const mark = marks.get(UNFINISHED_COPY);
    if (mark === undefined) throw occupied(found);
    const installation = new Map(
      (await reader.all("select name, value from installation")) as unknown as [string, string][],
    );
    if (!isSameInstallation(installation, source.installation)) {
      throw new BackupProblem("the target is an unfinished copy of another installation; nothing was changed");
    }
    marks.delete(UNFINISHED_COPY);
    const schema = [...marks.keys()].sort().at(-1);
    if (schema !== source.schema) {
      throw new BackupProblem(
        `the target is an unfinished copy from when the source had the schema ${schema}, and it has ${source.schema} now; nothing was changed. Copy into an empty database`,
      );
    }
    return mark.split(" ")[0];
  }

  /** Also keeps other runs from changing the mark until the transaction ends. */
  async #refuseOvertaken(): Promise<void> {
    const { reader, forUpdate } = this.#session;
    const [mark] = await reader.all(
      `select timestamp from ${MIGRATIONS_TABLE} where name = '${UNFINISHED_COPY}' ${forUpdate}`,
    );
    if (mark?.[0] === this.#run) return;
    throw new Overtaken("another copy into the same database was begun after this one, so this one ends");
  }

  async #transaction<T>(work: () => Promise<T>): Promise<T> {
    const { exec, begin } = this.#session;
    await exec(begin);
    try {
      const result = await work();
      await exec("commit");
      return result;
    } catch (error) {
      await exec("rollback").catch(() => {});
      throw error;
    }
  }
}

const occupied = (tables: readonly string[]): BackupProblem =>
  new BackupProblem(
    `there is a database already: it has the table ${tables[0]}. The target of a copy must be empty, or an unfinished copy from the same database`,
  );

const isSameInstallation = (one: ReadonlyMap<string, string>, other: ReadonlyMap<string, string>): boolean =>
  installationIdOf(one) === installationIdOf(other) && one.get(ROOT_KEY_ID) === other.get(ROOT_KEY_ID);

/** The differences between the engines. */
interface Session {
  kind: DatabaseKind;
  connection: Connection;
  reader: RowReader;
  writer: RowWriter;
  exec(sql: string): Promise<void>;
  begin: string;
  /** The clause that locks the selected rows until the end of the transaction. */
  forUpdate: string;
  /** Tables whose existence means that the target is not empty. */
  tables(): Promise<string[]>;
  /** Called before the first transaction. */
  prepare(): Promise<void>;
  /** Makes others who begin a copy or a restore wait until the end of the transaction. */
  lock(): Promise<void>;
  /** Called after the tables are created, in the same transaction. */
  atBeginning(): Promise<void>;
  beforeEnd(): Promise<void>;
  /** Called in the last transaction. */
  atEnd(): Promise<void>;
  close(): Promise<void>;
}

async function openSqlite(file: string): Promise<Session> {
  createForOwner(file);
  const database = new DatabaseSync(file, { enableForeignKeyConstraints: false, timeout: OPENING_WAIT_MS });
  const connection = new SqliteConnection(database);
  const reader = sqliteReader(database);
  const nothing = async () => {};
  return {
    kind: "sqlite",
    connection,
    reader,
    writer: sqliteWriter(database),
    exec: async (sql) => connection.exec(sql),
    begin: "begin immediate",
    forUpdate: "",
    tables: async () =>
      (await reader.all("select name from sqlite_master where type = 'table'")).map(([name]) => `${name}`),
    // A power cut may lose the last portions, but never half of one.
    prepare: async () =>
      database.exec("pragma journal_mode = wal; pragma synchronous = normal; pragma temp_store = memory"),
    lock: nothing,
    atBeginning: nothing,
    beforeEnd: async () => {
      checkReferences(database);
      // From now on the file has the settings that servers use, and the last commits are on the disk.
      database.exec("pragma foreign_keys = on; pragma synchronous = full");
    },
    atEnd: nothing,
    close: async () => {
      connection.close();
      syncFolder(dirname(realpathSync(file)));
    },
  };
}

/** References that must be restored at the end; until then the tables are without them. */
const REFERENCES_TABLE = "unfinished_copy_references";

async function openPostgres(url: string): Promise<Session> {
  const client = await connectForLong(url);
  const connection = new PostgresConnection(client);
  return {
    kind: "postgres",
    connection,
    reader: postgresReader(client),
    writer: postgresWriter(client),
    exec: async (sql) => void (await connection.exec(sql)),
    begin: `begin; ${IDLE_LIMIT}`,
    forUpdate: "for update",
    tables: () => tablesInPostgres(client),
    prepare: async () => {},
    lock: async () => void (await client.query(RESTORE_LOCK)),
    atBeginning: async () => {
      const references = await dropReferences(client);
      await client.query(`create table ${REFERENCES_TABLE} ("table" text, name text, definition text)`);
      for (const { table, name, definition } of references) {
        await client.query(`insert into ${REFERENCES_TABLE} values ($1, $2, $3)`, [table, name, definition]);
      }
    },
    beforeEnd: async () => {},
    atEnd: async () => {
      const { rows } = await client.query<Reference>(
        `select "table", name, definition from ${REFERENCES_TABLE} order by 1, 2`,
      );
      await restoreReferences(client, rows);
      await continueNumbers(client);
      await client.query(`drop table ${REFERENCES_TABLE}`);
    },
    // Closing the connection ends the transaction as well.
    close: () => client.end().catch(() => {}),
  };
}
