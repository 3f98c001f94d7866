import { randomUUID } from "node:crypto";
import { realpathSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { syncFolder } from "../../kernel/sync-folder.ts";
import { sqliteFileOf } from "../database.ts";
import type { Connection, DatabaseKind } from "../engine.ts";
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
import { FORGET_SERVERS } from "./tables.ts";

/** Another copy into the same place has taken this one's turn, or has finished it. */
export class Overtaken extends BackupProblem {}

/**
 * A database that is copied into, in as many runs as it takes. The mark of an unfinished copy comes with the tables and the rows
 * that name the installation, before any other row, and goes in the transaction that makes the database whole.
 */
export class CopyTarget {
  readonly #session: Session;
  /** Names this run in the mark: whoever comes later puts another name there. */
  readonly #run = `${new Date().toISOString()} ${randomUUID()}`;
  #begun: string | undefined;

  private constructor(session: Session) {
    this.#session = session;
  }

  /** @throws BackupProblem for what is neither empty nor an unfinished copy of the same installation, with nothing written */
  static async open(url: string, source: Snapshot): Promise<CopyTarget> {
    const file = sqliteFileOf(url);
    if (file === undefined && url.startsWith("sqlite:"))
      throw new BackupProblem("a database in memory keeps nothing: name a file, or PostgreSQL");
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

  /** When the run before this one began; undefined for the first. */
  get begun(): string | undefined {
    return this.#begun;
  }

  get reader(): RowReader {
    return this.#session.reader;
  }

  /**
   * Writes in a transaction of its own.
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
   * Checks the references, brings the tables up to this version, and takes the mark away.
   *
   * @throws BackupProblem, Overtaken
   */
  async finish(): Promise<void> {
    const { kind, connection, exec, beforeEnd, atEnd } = this.#session;
    await beforeEnd();
    await this.#transaction(async () => {
      await this.#refuseOvertaken();
      await atEnd();
      await exec(`delete from ${MIGRATIONS_TABLE} where name = '${UNFINISHED_COPY}'`);
      await migrateConnection(kind, connection);
      await exec(FORGET_SERVERS);
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
    // A server that was started meanwhile has made its tables since the look.
    if (made.length === 0) throw occupied(["installation"]);
    await atBeginning();
    const installation = source.tables.find(({ name }) => name === "installation");
    if (installation)
      for await (const rows of source.reader.rowsOf(installation)) await writer.insert(installation, rows);
    await exec(`insert into ${MIGRATIONS_TABLE} (name, timestamp) values ('${UNFINISHED_COPY}', '${this.#run}')`);
  }

  /** Resolves to when the copy was begun that is to be gone on with; to undefined in an empty place. */
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
        `the target is an unfinished copy from when the source had the schema ${schema}, and it has ${source.schema} now; nothing was changed: copy into an empty place`,
      );
    }
    return mark.split(" ")[0];
  }

  /** In the transaction that it is asked in, nobody puts another name into the mark. */
  async #refuseOvertaken(): Promise<void> {
    const { reader, forUpdate } = this.#session;
    const [mark] = await reader.all(
      `select timestamp from ${MIGRATIONS_TABLE} where name = '${UNFINISHED_COPY}' ${forUpdate}`,
    );
    if (mark?.[0] === this.#run) return;
    throw new Overtaken("another copy into the same place was begun after this one, which ends here");
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
    `there is a database already: it has the table ${tables[0]}. A copy goes into an empty place, or on in one where it was not finished`,
  );

const isSameInstallation = (one: ReadonlyMap<string, string>, other: ReadonlyMap<string, string>): boolean =>
  installationIdOf(one) === installationIdOf(other) && one.get("root_key_id") === other.get("root_key_id");

/** What differs between the engines. */
interface Session {
  kind: DatabaseKind;
  connection: Connection;
  reader: RowReader;
  writer: RowWriter;
  exec(sql: string): Promise<void>;
  begin: string;
  /** What keeps a row that was read from others until the end of the transaction. */
  forUpdate: string;
  /** Tables that say that the place is not empty. */
  tables(): Promise<string[]>;
  /** Before the first transaction. */
  prepare(): Promise<void>;
  /** Keeps others who begin a copy or a restore waiting until the end of the transaction. */
  lock(): Promise<void>;
  /** Once the tables are made, in that transaction. */
  atBeginning(): Promise<void>;
  beforeEnd(): Promise<void>;
  /** In the last transaction. */
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
    // A power cut may take the last portions away, and never half of one.
    prepare: async () =>
      database.exec("pragma journal_mode = wal; pragma synchronous = normal; pragma temp_store = memory"),
    lock: nothing,
    atBeginning: nothing,
    beforeEnd: async () => {
      checkReferences(database);
      // From now on it is used as servers use it, and what is committed last is on the disk.
      database.exec("pragma foreign_keys = on; pragma synchronous = full");
    },
    atEnd: nothing,
    close: async () => {
      connection.close();
      syncFolder(dirname(realpathSync(file)));
    },
  };
}

/** References that are to be put back, as their tables are without them until the end. */
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
    // Its end ends the transaction as well.
    close: () => client.end().catch(() => {}),
  };
}
