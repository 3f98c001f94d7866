import {
  type DatabaseConnection,
  type Dialect,
  type Driver,
  Kysely,
  Migrator,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from "kysely";
import type pg from "pg";
import { COMMIT_DEADLINE_MS } from "../kernel/limits.ts";
import type { Connection, Engine, Reader, Transactor } from "./engine.ts";
import { DatabaseFailure, translate } from "./failure.ts";
import { type AfterCommit, GroupCommit, type OpenTransaction } from "./group-commit.ts";
import { migrations } from "./migrations/index.ts";
import { openPostgres, PostgresConnection } from "./postgres.ts";
import type { Schema } from "./schema.ts";
import { openSqlite, type SqliteConnection } from "./sqlite.ts";

/** The store: committed state to read, `transact` to write. */
export interface Database {
  readonly engine: Engine;
  readonly read: Reader;
  /**
   * Runs `work` in a transaction and resolves once its commit is durable. All work of one scope (an organization's id) is
   * serial, in every process; work without a scope relies on constraints alone. `work` may be run more than once.
   */
  transact<T>(scope: string | undefined, work: (tx: Transactor) => Promise<T>): Promise<T>;
  /** Brings the tables up to this version, under a lock. Resolves to the names of the migrations it ran. */
  migrate(): Promise<string[]>;
  /** Whether the tables exist at all, asked without creating anything. */
  isEmpty(): Promise<boolean>;
  /** Rejects when the database does not answer. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

export interface DatabaseOptions {
  /** `sqlite:<file>`, `sqlite::memory:` or `postgres://…` */
  url: string;
  /** Told of connections that break while nobody uses them. */
  onConnectionError?: (error: Error) => void;
}

export function openDatabase(options: DatabaseOptions): Database {
  const { url } = options;
  if (url.startsWith("sqlite:")) return sqliteDatabase(url.slice("sqlite:".length));
  if (/^postgres(ql)?:\/\//.test(url)) return postgresDatabase(url, options.onConnectionError ?? (() => {}));
  throw new Error(`not a database URL: expected sqlite:<file> or postgres://…, got ${url.split(":")[0]}:…`);
}

function sqliteDatabase(file: string): Database {
  const writer = openSqlite(file);
  const inMemory = file === ":memory:";
  // A second connection reads the last committed state while a transaction is open. Memory has only the one, and there a
  // read waits until no transaction is open.
  const reader = inMemory ? writer : openSqlite(file);
  const turns = inMemory ? createTurns() : noTurns;
  const kysely = kyselyOn("sqlite", async () => writer);
  const takeReader = async () => {
    await turns.take();
    return reader;
  };
  const readKysely = kyselyOn("sqlite", takeReader, turns.giveBack);
  const read: Reader = {
    engine: "sqlite",
    selectFrom: readKysely.selectFrom.bind(readKysely) as Reader["selectFrom"],
    all: async (query) => {
      if (!inMemory) return reader.all(query.sql, query.parameters);
      await turns.take();
      return reader.all<never>(query.sql, query.parameters).finally(turns.giveBack);
    },
  };
  const begin = () => beginSqlite(writer, kysely, turns, read);
  const commits = new GroupCommit({ lanes: 1, scopes: "together", begin });
  return {
    engine: "sqlite",
    read,
    transact: (scope, work) => commits.run(scope, work),
    migrate: () => migrate(kysely, "sqlite"),
    isEmpty: async () => {
      const tables = await writer.all("select 1 from sqlite_master where name = 'installation'", []);
      return tables.length === 0;
    },
    ping: async () => void (await reader.all("select 1", [])),
    close: async () => {
      await commits.close();
      writer.close();
      reader.close();
    },
  };
}

/** Who may use the one connection of an in-memory database: one at a time, in the order of asking. */
interface Turns {
  take(): Promise<void>;
  giveBack(): void;
}

const noTurns: Turns = { take: async () => {}, giveBack: () => {} };

function createTurns(): Turns {
  const waiting: (() => void)[] = [];
  let taken = false;
  return {
    take: () =>
      new Promise((resolve) => {
        if (taken) waiting.push(resolve);
        else resolve();
        taken = true;
      }),
    giveBack: () => {
      const next = waiting.shift();
      if (next) next();
      else taken = false;
    },
  };
}

async function beginSqlite(
  connection: SqliteConnection,
  kysely: Kysely<Schema>,
  turns: Turns,
  committed: Reader,
): Promise<OpenTransaction> {
  await turns.take();
  try {
    connection.exec("begin immediate");
  } catch (error) {
    turns.giveBack();
    throw error;
  }
  return {
    savepoint: async () => connection.exec("savepoint one"),
    release: async () => connection.exec("release one"),
    rollbackToSavepoint: async () => {
      connection.exec("rollback to one");
      connection.exec("release one");
    },
    commit: async () => {
      connection.exec("commit");
      turns.giveBack();
    },
    rollback: async () => {
      try {
        // SQLite ends the transaction by itself after some failures, a full disk among them.
        if (connection.inTransaction) connection.exec("rollback");
      } finally {
        turns.giveBack();
      }
    },
    transactor: () => transactorOn("sqlite", connection, kysely, committed),
  };
}

const POSTGRES_LANES = 6;
const POSTGRES_READERS = 8;

function postgresDatabase(url: string, onError: (error: Error) => void): Database {
  const maxConnections = POSTGRES_LANES + POSTGRES_READERS;
  const pool = openPostgres({ url, maxConnections, statementTimeoutMs: COMMIT_DEADLINE_MS, onError });
  const shared = new PostgresConnection(pool);
  const kysely = kyselyOn("postgres", async () => shared);
  const read: Reader = {
    engine: "postgres",
    selectFrom: kysely.selectFrom.bind(kysely) as Reader["selectFrom"],
    all: (query) => shared.all(query.sql, query.parameters),
  };
  const begin = (scope: string | undefined) => beginPostgres(pool, scope, read);
  const commits = new GroupCommit({ lanes: POSTGRES_LANES, scopes: "exclusive", begin });
  return {
    engine: "postgres",
    read,
    transact: (scope, work) => commits.run(scope, work),
    migrate: () => migratePostgres(url, onError),
    isEmpty: async () => {
      const [row] = await shared.all<{ found: string | null }>("select to_regclass('installation') as found", []);
      return row?.found == null;
    },
    ping: async () => void (await shared.all("select 1", [])),
    close: async () => {
      await commits.close();
      await pool.end();
    },
  };
}

const LOCK_SCOPE = "select pg_advisory_xact_lock(hashtextextended($1, 0))";

async function beginPostgres(pool: pg.Pool, scope: string | undefined, committed: Reader): Promise<OpenTransaction> {
  const client = await pool.connect().catch((error: unknown) => {
    throw translate(error);
  });
  let released = false;
  const giveBack = (broken: boolean) => {
    if (!released) client.release(broken);
    released = true;
  };
  const connection = new PostgresConnection(client);
  const exec = (sql: string) => connection.exec(sql);
  const kysely = kyselyOn("postgres", async () => connection);
  try {
    const begun = exec("begin");
    // Other processes wait here for the organization, as lanes of this one wait in GroupCommit.
    const locked = scope === undefined ? [] : connection.all(LOCK_SCOPE, [scope]);
    await Promise.all([begun, locked]);
  } catch (error) {
    giveBack(true);
    throw error;
  }
  // Savepoints are sent with whatever comes after them, which fails with them; nothing waits for their answers but the end.
  let ahead: Promise<unknown> = Promise.resolve();
  let toRelease = "";
  const takeRelease = () => {
    const release = toRelease;
    toRelease = "";
    return release;
  };
  return {
    savepoint: async () => {
      ahead = Promise.all([ahead, exec(`${takeRelease()}savepoint one`)]);
      // Whoever waits for it is told; nobody may yet.
      ahead.catch(() => {});
    },
    release: async () => {
      toRelease = "release one; ";
    },
    rollbackToSavepoint: async () => {
      const undone = exec("rollback to one; release one");
      await Promise.all([ahead, undone]);
    },
    commit: async () => {
      // A transaction that is broken already is rolled back by its commit without an error; its release tells.
      const committed = exec(`${takeRelease()}commit`);
      await Promise.all([ahead, committed]);
      giveBack(false);
    },
    rollback: async (reason) => {
      // A connection that is lost or hangs is not asked; closing it ends the transaction as well.
      if (reason instanceof DatabaseFailure && reason.kind === "unavailable") return giveBack(true);
      const clean = await exec("rollback").then(
        () => true,
        () => false,
      );
      giveBack(!clean);
    },
    transactor: () => transactorOn("postgres", connection, kysely, committed),
  };
}

function transactorOn(
  engine: Engine,
  connection: Connection,
  kysely: Kysely<Schema>,
  committed: Reader,
): ReturnType<OpenTransaction["transactor"]> {
  let open = true;
  const afterCommit: AfterCommit[] = [];
  const whileOpen = <F extends (...args: never[]) => unknown>(method: F): F =>
    ((...args: never[]) => {
      if (!open) throw new Error("this transaction has ended");
      return method.apply(kysely, args);
    }) as F;
  const tx: Transactor = {
    engine,
    selectFrom: whileOpen(kysely.selectFrom as never) as Transactor["selectFrom"],
    insertInto: whileOpen(kysely.insertInto as never) as Transactor["insertInto"],
    updateTable: whileOpen(kysely.updateTable as never) as Transactor["updateTable"],
    deleteFrom: whileOpen(kysely.deleteFrom as never) as Transactor["deleteFrom"],
    all: whileOpen((query: { sql: string; parameters: readonly unknown[] }) =>
      connection.all(query.sql, query.parameters),
    ) as Transactor["all"],
    committed,
    afterCommit: whileOpen((follow: AfterCommit) => void afterCommit.push(follow)) as Transactor["afterCommit"],
  };
  return {
    tx,
    afterCommit,
    end: () => {
      open = false;
    },
  };
}

function kyselyOn(
  engine: Engine,
  acquire: () => Promise<DatabaseConnection>,
  release: () => void = () => {},
): Kysely<Schema> {
  return new Kysely<Schema>({ dialect: dialectOn(engine, acquire, release) });
}

/** Kysely over connections that are opened and ended elsewhere; its transactions serve the migrator alone. */
function dialectOn(engine: Engine, acquire: () => Promise<DatabaseConnection>, release: () => void): Dialect {
  const exec = (connection: DatabaseConnection, sql: string) =>
    (connection as Connection).executeQuery({ sql, parameters: [], query: { kind: "RawNode" } } as never);
  const driver: Driver = {
    init: async () => {},
    acquireConnection: acquire,
    beginTransaction: async (connection) =>
      void (await exec(connection, engine === "sqlite" ? "begin immediate" : "begin")),
    commitTransaction: async (connection) => void (await exec(connection, "commit")),
    rollbackTransaction: async (connection) => void (await exec(connection, "rollback")),
    releaseConnection: async () => release(),
    destroy: async () => {},
  };
  return engine === "sqlite"
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
 * SQLite rolls back schema changes as it does others, so a migration is whole or absent after a crash; the transaction is
 * also what a second process waits for.
 */
class TransactionalSqliteAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}

/** On one connection, where a lock and the migrations may take their time. */
async function migratePostgres(url: string, onError: (error: Error) => void): Promise<string[]> {
  const pool = openPostgres({ url, maxConnections: 1, onError });
  const client = await pool.connect().catch((error: unknown) => {
    throw translate(error);
  });
  try {
    const connection = new PostgresConnection(client);
    return await migrate(
      kyselyOn("postgres", async () => connection),
      "postgres",
    );
  } finally {
    client.release();
    await pool.end();
  }
}

async function migrate(kysely: Kysely<Schema>, engine: Engine): Promise<string[]> {
  const bound = Object.entries(migrations).map(([name, { up }]) => [
    name,
    { up: (db: Kysely<unknown>) => up(db, engine) },
  ]);
  const migrator = new Migrator({
    db: kysely,
    provider: { getMigrations: async () => Object.fromEntries(bound) },
    migrationTableName: "migrations",
    migrationLockTableName: "migrations_lock",
  });
  const { error, results } = await migrator.migrateToLatest();
  if (error) throw error;
  return (results ?? []).filter(({ status }) => status === "Success").map(({ migrationName }) => migrationName);
}
