import type pg from "pg";
import { HEALTH_DEADLINE_MS } from "../kernel/limits.ts";
import { onceATurn } from "../kernel/once-a-turn.ts";
import { Batch } from "./batch.ts";
import { kyselyOn } from "./dialect.ts";
import { DurableLog, DurableReads, type SyncFile } from "./durable-log.ts";
import type { DatabaseKind, Query, Reader, Transactor } from "./engine.ts";
import { DatabaseFailure, isOutOfConnections, translate } from "./failure.ts";
import { type CommitObserver, GroupCommit, type RunOptions } from "./group-commit.ts";
import { type Health, HealthCheck } from "./health.ts";
import { KeptReads } from "./kept-reads.ts";
import { migrate, migratePostgres, type SchemaState, schemaState } from "./migrate.ts";
import { OutagePatience } from "./outage.ts";
import { transactionsOf } from "./places.ts";
import { type Pooler, poolerBefore } from "./pooler.ts";
import { LookUps, PatientReads, PostgresConnection, patiently } from "./postgres.ts";
import { PostgresHosts } from "./postgres-hosts.ts";
import { type PoolFigures, PostgresPool } from "./postgres-pool.ts";
import { POSTGRES_DEFAULTS, type PostgresSettings } from "./postgres-settings.ts";
import { beginPostgres } from "./postgres-transactions.ts";
import { preparedWrite } from "./prepared.ts";
import { SharedReads } from "./shared-reads.ts";
import { OPENING_WAIT_MS, openSqlite, type SqliteConnection } from "./sqlite.ts";
import { SqliteFiles } from "./sqlite-files.ts";
import { beginSqlite, type SqliteWriter } from "./sqlite-transactions.ts";
import { GrowingStatistics } from "./statistics.ts";

/** The store: reads see committed state, `transact` writes. */
export interface Database {
  readonly kind: DatabaseKind;
  readonly read: Reader;
  /**
   * Runs `work` in a transaction and resolves once its commit is durable. All work of one scope (an organization's id) is serialized across
   * processes; work without a scope relies on constraints only. `work` may run more than once.
   *
   * `ahead` runs the queries that `work` will need, so that their answers are there by then; only engines with slow round trips use it.
   * `isShared` work may share a transaction with work of other scopes.
   */
  transact<T>(scope: string | undefined, work: (tx: Transactor) => Promise<T>, options?: RunOptions): Promise<T>;
  /** Migrates the tables to this version, under a lock. Resolves to the names of the migrations that ran. */
  migrate(): Promise<string[]>;
  /** How the tables differ from those of this version. Creates nothing. */
  schemaState(): Promise<SchemaState>;
  /** Whether the database can be read and written now. Answers within a deadline and may be called at any rate. */
  health(): Promise<Health>;
  /** Whether a pooler between this server and the database shares its sessions. */
  pooler(): Promise<Pooler>;
  figures(): DatabaseFigures;
  close(): Promise<void>;
}

/** Work that is waiting for the database right now, for operators. */
export interface DatabaseFigures {
  /** Functions that wait for a transaction. */
  commitsWaiting: number;
  /** Connections of PostgreSQL; undefined on SQLite. */
  pool: PoolFigures | undefined;
}

export interface DatabaseOptions {
  /** `sqlite:<file>`, `sqlite::memory:` or `postgres://…` */
  url: string;
  /** Overrides of the default settings for PostgreSQL. */
  postgres?: Partial<PostgresSettings>;
  /** Called when a connection breaks that nobody is using. */
  onConnectionError?: (error: Error) => void;
  /** Called once if a file of an open SQLite database was removed or replaced. From then on all operations fail. */
  onFileLost?: (path: string, reason: string) => void;
  /** Notified of the outcome of transactions. */
  commits?: CommitObserver | undefined;
  /** Makes the log of a SQLite file durable. Defaults to `fs.fdatasync`; tests replace it to control when it completes. */
  syncFile?: SyncFile | undefined;
}

/** The file of a SQLite database; undefined for all others. */
export function sqliteFileOf(url: string): string | undefined {
  if (!url.startsWith("sqlite:")) return undefined;
  const file = url.slice("sqlite:".length);
  return file === ":memory:" ? undefined : file;
}

export function openDatabase(options: DatabaseOptions): Database {
  const { url, postgres, onFileLost = () => {}, onConnectionError = () => {}, commits, syncFile } = options;
  const file = sqliteFileOf(url);
  if (file !== undefined) return sqliteDatabase(file, onFileLost, commits, syncFile);
  if (url.startsWith("sqlite:")) return memoryDatabase(commits);
  if (/^postgres(ql)?:\/\//.test(url))
    return postgresDatabase(url, { ...POSTGRES_DEFAULTS, ...postgres }, onConnectionError, commits);
  throw new Error(`not a database URL: expected sqlite:<file> or postgres://…, got ${url.split(":")[0]}:…`);
}

/** How long a read waits for another process, which may hold the lock while it recovers the log after a crash. */
const READ_WAIT_MS = 250;
/**
 * The longest that a transaction runs functions. The event loop stands still during a SQLite transaction, which therefore never waits for
 * another process. Large deletions are split into portions, between which others read the committed state.
 */
const SQLITE_BATCH_MS = 20;

function sqliteDatabase(
  file: string,
  onFileLost: (path: string, reason: string) => void,
  observer: CommitObserver | undefined,
  syncFile: SyncFile | undefined,
): Database {
  const files = new SqliteFiles(file, onFileLost);
  const writer = openSqlite(file);
  // A second connection, which reads the last committed state while a transaction is open.
  const reader = openSqlite(file);
  const log = new DurableLog(file, syncFile);
  files.watch();
  // Beginning a transaction waits without blocking the event loop; after that nothing needs to wait.
  writer.waitForLocks(0);
  reader.waitForLocks(READ_WAIT_MS);
  return databaseOnSqlite({
    observer,
    writer,
    reader,
    log,
    beforeUse: () => {
      files.refuseIfLost();
      log.refuseIfBroken();
    },
    afterCommit: () => files.check(),
    afterUse: () => {},
    beforeProbe: () => files.refuseIfFull(),
    close: () => {
      files.close();
      log.close();
      writer.close();
      reader.close();
    },
  });
}

/** An in-memory database has only one connection: a read waits until no transaction is open. */
function memoryDatabase(observer: CommitObserver | undefined): Database {
  const connection = openSqlite(":memory:");
  const turns = createTurns();
  return databaseOnSqlite({
    observer,
    writer: connection,
    reader: connection,
    log: undefined,
    beforeUse: turns.take,
    afterCommit: () => {},
    afterUse: turns.giveBack,
    beforeProbe: () => {},
    close: () => connection.close(),
  });
}

/** The connections of a SQLite database, and hooks around their use. */
interface SqliteConnections extends SqliteWriter {
  reader: SqliteConnection;
  /** Called before the write of a health check; throws if there is no room. */
  beforeProbe: () => void;
  close: () => void;
  observer: CommitObserver | undefined;
}

function databaseOnSqlite(connections: SqliteConnections): Database {
  const { writer, log, beforeUse, afterUse } = connections;
  const reader = new DurableReads(connections.reader, log);
  const kept = new KeptReads(() => writer.dataVersion());
  let open: Batch | undefined;
  const kysely = kyselyOn("sqlite", async () => open ?? writer);
  const takeReader = async () => {
    await beforeUse();
    return reader;
  };
  const readKysely = kyselyOn("sqlite", takeReader, afterUse);
  const using = async <T>(read: () => T | Promise<T>): Promise<T> => {
    const turn = beforeUse();
    if (turn) await turn;
    try {
      return await read();
    } finally {
      afterUse();
    }
  };
  const all = <Row>(sql: string, parameters: readonly unknown[]) => using(() => reader.all<Row>(sql, parameters));
  // The caller must see everything written before the call; one refresh is enough for all calls in the same turn of the event loop.
  const refreshed = onceATurn(() => kept.refresh());
  // What is kept was already durable when it was read.
  const askLasting = async <Row>(query: Query<Row>): Promise<Row[]> => {
    await refreshed();
    return using(() => kept.find(query) ?? kept.ask(query, () => reader.all<Row>(query.sql, query.parameters)));
  };
  const read: Reader = {
    kind: "sqlite",
    selectFrom: readKysely.selectFrom.bind(readKysely) as Reader["selectFrom"],
    all: (query) => (query.isLasting ? askLasting(query) : all(query.sql, query.parameters)),
  };
  const commits: GroupCommit = new GroupCommit({
    concurrency: 1,
    scopes: "together",
    begin: () => {
      // On SQLite, writing rows one by one is as fast as writing them together.
      open = new Batch(writer, "sqlite", false, { committed: kept });
      return beginSqlite(connections, open, kept, kysely, read);
    },
    batchMs: SQLITE_BATCH_MS,
    onFailure: (failure) => check.noteFailedWrite(failure),
    observer: connections.observer,
  });
  const check = new HealthCheck({
    read: () => all("select 1 from sqlite_master", []),
    write: async () => {
      connections.beforeProbe();
      await commits.run(undefined, (tx) => writeProbe(tx, { value: PROBE_FILLER.sqlite }));
    },
  });
  for (const connection of [writer, connections.reader]) connection.onDamage = (failure) => check.noteDamage(failure);
  return {
    kind: "sqlite",
    read,
    transact: (scope, work) => commits.run(scope, work),
    migrate: async () => {
      writer.waitForLocks(OPENING_WAIT_MS);
      try {
        return await migrate(kysely, "sqlite");
      } finally {
        kept.forgetAll();
        writer.waitForLocks(0);
        await log?.sync();
      }
    },
    schemaState: () => schemaState("sqlite", (sql, parameters) => writer.all(sql, parameters)),
    health: () => check.check(),
    pooler: async () => "none",
    figures: () => ({ commitsWaiting: commits.waiting, pool: undefined }),
    close: async () => {
      await commits.close();
      connections.close();
    },
  };
}

/** Serializes use of the one connection of an in-memory database, in the order of the calls. */
interface Turns {
  take(): Promise<void>;
  giveBack(): void;
}

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

const POSTGRES_PROBES = 2;
/** The most connections that a server opens while it runs. */
export const connectionsOf = ({ connections }: PostgresSettings): number => connections + POSTGRES_PROBES;

function postgresDatabase(
  url: string,
  settings: PostgresSettings,
  onError: (error: Error) => void,
  observer: CommitObserver | undefined,
): Database {
  const { prepared } = settings;
  const hosts = new PostgresHosts(url);
  // Requests found that PostgreSQL gives no more connections; the connections that the probes already have would not show that.
  const pool: PostgresPool = new PostgresPool({ hosts, settings, onError, onRefused: () => probes.renew() });
  const patience = new OutagePatience();
  const reads = new PatientReads(new PostgresConnection(pool, prepared), patience);
  const shared = new SharedReads(() => {
    const lookUps = new LookUps(pool, prepared);
    return (sql, parameters) => patiently(patience, () => lookUps.all(sql, parameters));
  });
  const kysely = kyselyOn("postgres", async () => reads);
  const read: Reader = {
    kind: "postgres",
    selectFrom: kysely.selectFrom.bind(kysely) as Reader["selectFrom"],
    all: (query) => (query.isLasting || query.together ? shared.ask(query) : reads.all(query.sql, query.parameters)),
  };
  const commits: GroupCommit = new GroupCommit({
    concurrency: transactionsOf(settings.connections),
    scopes: "exclusive",
    begin: (scopes, isAgain, ahead) => beginPostgres(pool, settings, { scopes, isAgain, ahead }, read),
    onFailure: (failure) => check.noteFailedWrite(failure),
    observer,
  });
  const statistics = new GrowingStatistics(new PostgresConnection(pool, prepared));
  const probes: PostgresPool = new PostgresPool({
    hosts,
    settings: {
      connections: POSTGRES_PROBES,
      statementTimeoutMs: HEALTH_DEADLINE_MS,
      connectTimeoutMs: HEALTH_DEADLINE_MS,
      waitMs: HEALTH_DEADLINE_MS,
      prepared,
    },
    // The health check reports it.
    onError: () => {},
  });
  const probe = new PostgresConnection(probes, prepared);
  const ofRequests = new PostgresConnection(pool, prepared);
  const check = new HealthCheck({
    read: () => onEither(probe, ofRequests, (connection) => connection.all(READ_PROBE, [])),
    write: () =>
      onEither(probe, ofRequests, async (connection) => {
        await connection.all(WRITE_LOCK_PROBE, []);
        await writeProbe(asTransactor(connection), { value: PROBE_FILLER.postgres });
      }),
  });
  return {
    kind: "postgres",
    read,
    transact: async (scope, work, options) => {
      const value = await commits.run(scope, work, options);
      statistics.noteCommit();
      return value;
    },
    migrate: () => migratePostgres(url),
    schemaState: () => schemaState("postgres", (sql, parameters) => reads.all(sql, parameters)),
    health: () => check.check(),
    pooler: () => patience.through(() => poolerOf(pool)),
    figures: () => ({ commitsWaiting: commits.waiting, pool: pool.figures() }),
    close: async () => {
      patience.end();
      await Promise.all([commits.close(), statistics.ended()]);
      await Promise.all([pool.end(), probes.end()]);
    },
  };
}

/** If PostgreSQL has no connection for the probes because requests use all of them, the probe runs on a connection of the requests. */
const onEither = (
  probe: PostgresConnection,
  ofRequests: PostgresConnection,
  ask: (connection: PostgresConnection) => Promise<unknown>,
): Promise<unknown> =>
  ask(probe).catch((error: unknown) => {
    if (error instanceof DatabaseFailure && isOutOfConnections(error.cause as Error)) return ask(ofRequests);
    throw error;
  });

/** A single statement is a transaction of its own. */
const asTransactor = (connection: PostgresConnection): Parameters<typeof writeProbe>[0] =>
  ({
    kind: "postgres",
    all: (query: { sql: string; parameters: readonly unknown[] }) => connection.all(query.sql, query.parameters),
  }) as Transactor;

/**
 * Read no row, and need the locks of requests nevertheless: somebody may have locked a table that every request reads, or every change
 * writes, for example to rebuild it. SQLite has no locks on tables.
 */
const READ_PROBE = "select 1 from organizations, users, api_keys, authenticators where false";
const WRITE_LOCK_PROBE =
  "with a as (update activities set updated_at = updated_at where false) update votes set created_at = created_at where false";

/** The smallest write that must find room. PostgreSQL allocates room in advance in large pieces, so one byte is enough there. */
const PROBE_FILLER = { sqlite: "x".repeat(32 * 1024), postgres: "x" };

const writeProbe = preparedWrite<{ value: string }>()((db, { value }) =>
  db
    .insertInto("installation")
    .values({ name: "write_probe", value })
    .onConflict((conflict) => conflict.column("name").doUpdateSet((set) => ({ value: set.ref("excluded.value") })))
    .returning("name"),
);

async function poolerOf(pool: PostgresPool): Promise<Pooler> {
  const taken: pg.PoolClient[] = [];
  const take = async () => {
    const client = await pool.take("read");
    taken.push(client);
    return client;
  };
  try {
    return await poolerBefore(await take(), take);
  } catch (error) {
    throw translate(error);
  } finally {
    for (const client of taken) pool.giveBack(client, "read", true);
  }
}
