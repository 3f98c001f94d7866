import { setTimeout } from "node:timers/promises";
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
import pg from "pg";
import { HEALTH_DEADLINE_MS, SQLITE_LOCK_DEADLINE_MS } from "../kernel/limits.ts";
import { onceATurn } from "../kernel/once-a-turn.ts";
import { Batch } from "./batch.ts";
import { DurableLog, DurableReads, type SyncFile } from "./durable-log.ts";
import type {
  AheadReader,
  Connection,
  DatabaseKind,
  Known,
  LaterWrite,
  Query,
  Reader,
  StoredRow,
  Transactor,
} from "./engine.ts";
import { DatabaseFailure, isLocked, isOutOfConnections, isOutOfRoom, translate } from "./failure.ts";
import {
  type AfterCommit,
  type CommitObserver,
  GroupCommit,
  HalfDone,
  type OpenTransaction,
  type Prefetch,
  type RunOptions,
  ScopeTaken,
} from "./group-commit.ts";
import { type Health, HealthCheck } from "./health.ts";
import { KeptReads } from "./kept-reads.ts";
import { migrations } from "./migrations/index.ts";
import { OutagePatience } from "./outage.ts";
import { transactionsOf } from "./places.ts";
import { type Pooler, poolerBefore } from "./pooler.ts";
import { LookUps, PatientReads, PostgresConnection, patiently } from "./postgres.ts";
import { connectToOne, PostgresHosts } from "./postgres-hosts.ts";
import { IDLE_TRANSACTION_MS, type PoolFigures, PostgresPool, postgresTypes } from "./postgres-pool.ts";
import { POSTGRES_DEFAULTS, type PostgresSettings } from "./postgres-settings.ts";
import { preparedWrite } from "./prepared.ts";
import type { Schema } from "./schema.ts";
import { SharedReads } from "./shared-reads.ts";
import { OPENING_WAIT_MS, openSqlite, type SqliteConnection } from "./sqlite.ts";
import { SqliteFiles } from "./sqlite-files.ts";
import { GrowingStatistics } from "./statistics.ts";

/** The store: committed state to read, `transact` to write. */
export interface Database {
  readonly kind: DatabaseKind;
  readonly read: Reader;
  /**
   * Runs `work` in a transaction and resolves once its commit is durable. All work of one scope (an organization's id) is
   * serial, in every process; work without a scope relies on constraints alone. `work` may be run more than once. `ahead` asks for what
   * `work` will ask for, so that it is there by then where asking takes time; `isShared` work may be in a transaction with that of other scopes.
   */
  transact<T>(scope: string | undefined, work: (tx: Transactor) => Promise<T>, options?: RunOptions): Promise<T>;
  /** Brings the tables up to this version, under a lock. Resolves to the names of the migrations it ran. */
  migrate(): Promise<string[]>;
  /** How far its tables are from those of this version, asked without creating anything. */
  schemaState(): Promise<SchemaState>;
  /** Whether it can be read and written at this moment, told in time and as often as anybody asks. */
  health(): Promise<Health>;
  /** Whether something between it and this server hands its sessions round. */
  pooler(): Promise<Pooler>;
  figures(): DatabaseFigures;
  close(): Promise<void>;
}

/** What waits for the database at this moment, for operators. */
export interface DatabaseFigures {
  /** Functions that wait for a transaction. */
  commitsWaiting: number;
  /** Connections of PostgreSQL; undefined on SQLite. */
  pool: PoolFigures | undefined;
}

export interface SchemaState {
  /** There is not a single table of ours. */
  isEmpty: boolean;
  /** Migrations that were run by a newer version. */
  unknown: string[];
  /** Migrations that are still to come. */
  pending: string[];
}

export interface DatabaseOptions {
  /** `sqlite:<file>`, `sqlite::memory:` or `postgres://…` */
  url: string;
  /** What differs from the defaults of connections to PostgreSQL. */
  postgres?: Partial<PostgresSettings>;
  /** Told of connections that break while nobody uses them. */
  onConnectionError?: (error: Error) => void;
  /** Told once that a file of an open SQLite database was removed or replaced, and how; nothing works from then on. */
  onFileLost?: (path: string, reason: string) => void;
  /** Told what becomes of transactions. */
  commits?: CommitObserver | undefined;
  /** How the log of a SQLite file is made durable: by `fs.fdatasync`, unless a test looks at what happens meanwhile. */
  syncFile?: SyncFile | undefined;
}

/** The file of a SQLite database, undefined for all others. */
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

/** How long a read waits for another process, which happens while that one recovers the log after a crash. */
const READ_WAIT_MS = 250;
/**
 * Nothing in a transaction waits for another process: the event loop stands still while one runs, and no longer than this. Whoever deletes
 * very much takes turns, in which others read what was committed before.
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
  // A second connection reads the last committed state while a transaction is open.
  const reader = openSqlite(file);
  const log = new DurableLog(file, syncFile);
  files.watch();
  // Beginning a transaction waits without holding up everybody; after that nothing needs to wait.
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

/** Memory has only one connection: a read waits until no transaction is open. */
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

/** The connections of a SQLite database, and what is to be done around their use. */
interface SqliteConnections {
  writer: SqliteConnection;
  reader: SqliteConnection;
  /** What makes commits durable; nothing does in memory. */
  log: DurableLog | undefined;
  /** Before a read or a transaction; it may refuse, or have to be waited for. */
  beforeUse: () => Promise<void> | void;
  /** Before anybody is told of the commit; it may refuse. */
  afterCommit: () => void;
  afterUse: () => void;
  /** Before a write that shows whether commits work; it may refuse. */
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
  // Whoever asks is told of all that was written before, and one look is enough for those who ask in one turn.
  const refreshed = onceATurn(() => kept.refresh());
  // What is kept was durable when it was asked for.
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
      // One statement after the other is as fast as all of them together.
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
    schemaState: async () => {
      const tables = await writer.all<{ name: string }>("select name from sqlite_master where type = 'table'", []);
      const names = tables.map(({ name }) => name);
      return schemaState(names, () => writer.all(`select name from ${MIGRATIONS_TABLE}`, []));
    },
    health: () => check.check(),
    pooler: async () => "none",
    figures: () => ({ commitsWaiting: commits.waiting, pool: undefined }),
    close: async () => {
      await commits.close();
      connections.close();
    },
  };
}

/** Who may use the one connection of an in-memory database: one at a time, in the order of asking. */
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

async function beginSqlite(
  { writer: connection, log, beforeUse, afterCommit, afterUse }: SqliteConnections,
  batch: Batch,
  kept: KeptReads,
  kysely: Kysely<Schema>,
  committed: Reader,
): Promise<OpenTransaction> {
  await beforeUse();
  try {
    await beginWhenFree(connection);
    kept.refresh();
  } catch (error) {
    if (connection.inTransaction) connection.exec("rollback");
    afterUse();
    throw error;
  }
  let inUse = true;
  const giveBack = () => {
    batch.forgetAll();
    if (inUse) afterUse();
    inUse = false;
  };
  return {
    // SQLite ends the transaction by itself after some failures; what is done then is nowhere kept.
    written: () => (connection.inTransaction ? connection.written : Number.NaN),
    savepoint: async (next) => {
      batch.begun(next);
      connection.exec("savepoint one");
    },
    release: async () => connection.exec("release one"),
    rollbackToSavepoint: async () => {
      connection.exec("rollback to one");
      connection.exec("release one");
      batch.undone();
    },
    commit: async () => {
      try {
        connection.exec("commit");
      } finally {
        kept.noteWritten(batch.written);
      }
      giveBack();
      if (batch.hasWritten) await log?.sync();
      afterCommit();
      batch.askLast(committed.all);
    },
    rollback: async () => {
      try {
        // SQLite ends the transaction by itself after some failures, a full disk among them.
        if (connection.inTransaction) connection.exec("rollback");
      } finally {
        giveBack();
      }
    },
    transactor: () => transactorOn("sqlite", batch, kysely, committed, noScope),
  };
}

const LOCK_POLL_MS = 10;

/** Waits for another process that writes without keeping this one from anything else. */
async function beginWhenFree(connection: SqliteConnection): Promise<void> {
  const deadline = performance.now() + SQLITE_LOCK_DEADLINE_MS;
  for (;;) {
    try {
      return connection.exec("begin immediate");
    } catch (error) {
      if (!isLocked(error) || performance.now() > deadline) throw error;
    }
    await setTimeout(LOCK_POLL_MS);
  }
}

const POSTGRES_PROBES = 2;
/** Connections that a server opens at most while it runs. */
export const connectionsOf = ({ connections }: PostgresSettings): number => connections + POSTGRES_PROBES;

function postgresDatabase(
  url: string,
  settings: PostgresSettings,
  onError: (error: Error) => void,
  observer: CommitObserver | undefined,
): Database {
  const { prepared } = settings;
  const hosts = new PostgresHosts(url);
  // What the probes have open says nothing then of what requests meet with.
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
    // Whoever asks for the health is told.
    onError: () => {},
  });
  const probe = new PostgresConnection(probes, prepared);
  const ofRequests = new PostgresConnection(pool, prepared);
  const check = new HealthCheck({
    read: () => onEither(probe, ofRequests, (connection) => connection.all("select 1", [])),
    write: () =>
      onEither(probe, ofRequests, (connection) =>
        writeProbe(asTransactor(connection), { value: PROBE_FILLER.postgres }),
      ),
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
    schemaState: async () => {
      const sql = `select name from unnest(array['installation', '${MIGRATIONS_TABLE}']) as name where to_regclass(name) is not null`;
      const tables = await reads.all<{ name: string }>(sql, []);
      const names = tables.map(({ name }) => name);
      return schemaState(names, () => reads.all(`select name from ${MIGRATIONS_TABLE}`, []));
    },
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

/** Where PostgreSQL gives the probes no connection, as requests have all that it gives, those are looked by. */
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

/** The least that a write must find room for. In PostgreSQL room is taken in advance, in large pieces. */
const PROBE_FILLER = { sqlite: "x".repeat(32 * 1024), postgres: "x" };

const writeProbe = preparedWrite<{ value: string }>()((db, { value }) =>
  db
    .insertInto("installation")
    .values({ name: "write_probe", value })
    .onConflict((conflict) => conflict.column("name").doUpdateSet((set) => ({ value: set.ref("excluded.value") })))
    .returning("name"),
);

/** For a transaction alone, where its session is not ours. */
const timeoutsOf = (statementTimeoutMs: number): string =>
  `set local statement_timeout = ${statementTimeoutMs}; set local idle_in_transaction_session_timeout = ${IDLE_TRANSACTION_MS}`;

/**
 * Each statement sees what was committed before it, whatever PostgreSQL is set to: what is read behind a lock must be what whoever had it before
 * left, and not how things were when it was asked for.
 */
const BEGIN = "begin isolation level read committed";

const LOCK_SCOPE = "select pg_advisory_xact_lock(hashtextextended($1, 0))";
/** Those that nobody else holds, without waiting. */
const TRY_SCOPES =
  "select scope from unnest($1::text[]) as scope where pg_try_advisory_xact_lock(hashtextextended(scope, 0))";

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

async function beginPostgres(
  pool: PostgresPool,
  { prepared, statementTimeoutMs }: PostgresSettings,
  { scopes, isAgain, ahead: prefetches }: { scopes: readonly string[]; isAgain: boolean; ahead: readonly Prefetch[] },
  committed: Reader,
): Promise<OpenTransaction> {
  const client = await pool.take("transaction");
  let released = false;
  const giveBack = (broken: boolean) => {
    if (!released) pool.giveBack(client, "transaction", broken);
    released = true;
  };
  const connection = new PostgresConnection(client, prepared);
  const exec = (sql: string) => connection.exec(sql);
  // Savepoints are sent with whatever comes after them, which fails with them; nothing waits for their answers but the end.
  let ahead: Promise<unknown> = Promise.resolve();
  let toRelease = "";
  const takeRelease = () => {
    const release = toRelease;
    toRelease = "";
    return release;
  };
  /** The function that runs has none yet: it has written nothing. */
  let needsSavepoint = false;
  let hasSavepoint = false;
  let isAtOnce = false;
  const makeSavepoint = () => {
    if (!needsSavepoint) return;
    needsSavepoint = false;
    hasSavepoint = true;
    ahead = Promise.all([ahead, exec(`${takeRelease()}savepoint one`)]);
    // Whoever waits for it is told; nobody may yet.
    ahead.catch(() => {});
  };
  // What was lost may have been by a row of others, which is theirs to tell.
  const batch = new Batch(connection, "postgres", !isAgain, { beforeWrite: makeSavepoint });
  const kysely = kyselyOn("postgres", async () => batch);
  const begin = prepared ? BEGIN : `${BEGIN}; ${timeoutsOf(statementTimeoutMs)}`;
  const [scope, ...others] = scopes;
  const held = new Set(scopes.slice(0, 1));
  try {
    const begun = exec(begin);
    // Other processes wait here for the organization, as functions of this one wait in GroupCommit.
    const locked = scope === undefined ? [] : connection.all(LOCK_SCOPE, [scope]);
    const tried = others.length === 0 ? [] : connection.all<{ scope: string }>(TRY_SCOPES, [others]);
    // What was lost may have been by one of these.
    const known: Promise<unknown>[] = [];
    if (!isAgain)
      batch.askAhead((all) => {
        const selectFrom = kysely.selectFrom.bind(kysely) as Reader["selectFrom"];
        const reader: AheadReader = { kind: "postgres", selectFrom, all, known: (of) => batch.known(of) };
        known.push(...prefetches.map((prefetch) => prefetch(reader).catch(() => {})));
      });
    for (const { scope } of (await Promise.all([begun, locked, tried]))[2]) held.add(scope);
    // What comes to be known must be so before a function changes it.
    await Promise.all(known);
  } catch (error) {
    giveBack(true);
    throw error;
  }
  return {
    isHeld: (name) => held.has(name),
    savepoint: async (next) => {
      batch.begun(next);
      needsSavepoint = true;
      isAtOnce = next.isAtOnce;
      if (isAtOnce) makeSavepoint();
    },
    release: async () => {
      if (hasSavepoint) toRelease = "release one; ";
      needsSavepoint = hasSavepoint = false;
    },
    rollbackToSavepoint: async () => {
      needsSavepoint = false;
      if (!hasSavepoint) {
        // Without a savepoint there is no way back from what PostgreSQL refused.
        if (batch.hasFailed) throw new HalfDone();
        return batch.dropped();
      }
      hasSavepoint = false;
      // Something that an earlier function did not wait for was refused before it: nothing since can be undone by itself.
      const refusal = isAtOnce ? undefined : await refusalOf(ahead);
      if (refusal) throw new HalfDone(refusal);
      const undone = exec("rollback to one; release one");
      batch.undone();
      await Promise.all([ahead, undone]);
    },
    commit: async () => {
      const written = batch.writeRows();
      batch.askLast((query) => batch.ask(query));
      const committed = exec(`${takeRelease()}commit`);
      await Promise.allSettled([written, ahead, committed]);
      // The first that failed tells why, the others only that something did.
      await written;
      // Where something was refused that nobody had to wait for, a commit ends the transaction without its writes, and that is no error.
      const refusal = (await refusalOf(ahead)) ?? (await refusalOf(committed));
      if (refusal) throw new HalfDone(refusal);
      await ahead;
      if ((await committed) !== "COMMIT") throw new HalfDone();
      giveBack(false);
    },
    rollback: async (reason) => {
      // A connection that is lost or hangs is not asked; closing it ends the transaction as well. On a full disk reads need it: there may be no
      // other.
      const isUseless =
        reason instanceof DatabaseFailure && ["outage", "unavailable"].includes(reason.kind) && !isOutOfRoom(reason);
      if (isUseless) return giveBack(true);
      const clean = await exec("rollback").then(
        () => true,
        () => false,
      );
      giveBack(!clean);
    },
    transactor: () => transactorOn("postgres", batch, kysely, committed, others.length === 0 ? waitForScope : tryScope),
  };
}

/** Why the database refused it; nothing where it was done, or failed in another way. */
const refusalOf = (asked: Promise<unknown>): Promise<DatabaseFailure | undefined> =>
  asked.then(
    () => undefined,
    (error) => (error instanceof DatabaseFailure && error.kind === "bug" ? error : undefined),
  );

/** Of SQLite there is one writer anyway. */
const noScope = async () => {};

async function waitForScope(batch: Batch, scope: string): Promise<void> {
  await batch.all(LOCK_SCOPE, [scope]);
  // Whoever had the lock before may have changed anything.
  batch.forgetAll();
}

async function tryScope(batch: Batch, scope: string): Promise<void> {
  const locked = await batch.all(TRY_SCOPES, [[scope]]);
  if (locked.length === 0) throw new ScopeTaken();
  batch.forgetAll();
}

function transactorOn(
  kind: DatabaseKind,
  batch: Batch,
  kysely: Kysely<Schema>,
  committed: Reader,
  lock: (batch: Batch, scope: string) => Promise<unknown>,
): ReturnType<OpenTransaction["transactor"]> {
  let open = true;
  const afterCommit: AfterCommit[] = [];
  const whileOpen = <F extends (...args: never[]) => unknown>(method: F): F =>
    ((...args: never[]) => {
      if (!open) throw ended();
      return method.apply(kysely, args);
    }) as F;
  const tx: Transactor = {
    kind,
    selectFrom: whileOpen(kysely.selectFrom as never) as Transactor["selectFrom"],
    insertInto: whileOpen(kysely.insertInto as never) as Transactor["insertInto"],
    updateTable: whileOpen(kysely.updateTable as never) as Transactor["updateTable"],
    deleteFrom: whileOpen(kysely.deleteFrom as never) as Transactor["deleteFrom"],
    all: (query) => {
      if (!open) throw ended();
      return batch.ask(query);
    },
    later: whileOpen((into: LaterWrite, row: StoredRow) => batch.later(into, row)) as Transactor["later"],
    known: whileOpen((of: Known<unknown>) => batch.known(of)) as Transactor["known"],
    changing: whileOpen((of: Known<unknown>, write: (known: unknown) => Promise<unknown>) =>
      batch.changing(of, write),
    ) as Transactor["changing"],
    committed,
    last: whileOpen((query: Query) => batch.last(query)) as Transactor["last"],
    lock: whileOpen((scope: string) => lock(batch, scope)) as Transactor["lock"],
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

const ended = (): Error => new Error("this transaction has ended");

function kyselyOn(
  kind: DatabaseKind,
  acquire: () => Promise<DatabaseConnection>,
  release: () => void = () => {},
): Kysely<Schema> {
  return new Kysely<Schema>({ dialect: dialectOn(kind, acquire, release) });
}

/** Kysely over connections that are opened and ended elsewhere; its transactions serve the migrator alone. */
function dialectOn(kind: DatabaseKind, acquire: () => Promise<DatabaseConnection>, release: () => void): Dialect {
  const exec = (connection: DatabaseConnection, sql: string) =>
    (connection as Connection).executeQuery({ sql, parameters: [], query: { kind: "RawNode" } } as never);
  const driver: Driver = {
    init: async () => {},
    acquireConnection: acquire,
    beginTransaction: async (connection) =>
      void (await exec(connection, kind === "sqlite" ? "begin immediate" : "begin")),
    commitTransaction: async (connection) => void (await exec(connection, "commit")),
    rollbackTransaction: async (connection) => void (await exec(connection, "rollback")),
    releaseConnection: async () => release(),
    destroy: async () => {},
  };
  return kind === "sqlite"
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
async function migratePostgres(url: string): Promise<string[]> {
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

export const MIGRATIONS_TABLE = "migrations";

/**
 * Stands among the migrations of a database that is being copied into, until it is whole. No version has a migration of this name,
 * so none starts on it, whatever it knows of copies.
 */
export const UNFINISHED_COPY = "unfinished-copy";

/** What becomes of it. */
export const UNFINISHED_COPY_REMEDY =
  "run the same keystead copy again, which goes on where it ended, or name another database";

/** How far the tables of these names are from those of this version. */
export async function schemaState(
  tables: readonly string[],
  readApplied: () => Promise<{ name: string }[]>,
): Promise<SchemaState> {
  const applied = tables.includes(MIGRATIONS_TABLE) ? (await readApplied()).map(({ name }) => name) : [];
  return {
    isEmpty: !tables.includes("installation"),
    unknown: applied.filter((name) => !Object.hasOwn(migrations, name)),
    pending: Object.keys(migrations).filter((name) => !applied.includes(name)),
  };
}

/** Without a name it goes to the newest. */
async function migrate(kysely: Kysely<Schema>, kind: DatabaseKind, goal: MigrationGoal = {}): Promise<string[]> {
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

interface MigrationGoal {
  /** The last migration to run. */
  name?: string | undefined;
  /** Whether the caller has begun a transaction, which they all belong to. */
  inTransaction?: boolean;
}

/**
 * Brings the tables up to a migration on a connection that somebody else opened, in the transaction that it may be in. Resolves to
 * the names of the migrations it ran.
 */
export async function migrateConnection(kind: DatabaseKind, connection: Connection, name?: string): Promise<string[]> {
  const kysely = kyselyOn(kind, async () => connection);
  return await migrate(kysely, kind, { name, inTransaction: true });
}
