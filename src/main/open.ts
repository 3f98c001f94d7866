import { getCompileCacheDir } from "node:module";
import { hostname } from "node:os";
import { dirname } from "node:path";
import type { Logger } from "../kernel/log.ts";
import { makeFolder } from "../kernel/make-folder.ts";
import { type SignerOptions, SignerProcess, SignerRefused } from "../signer/client.ts";
import type { OpenResponse } from "../signer/protocol.ts";
import { type Database, openDatabase, sqliteFileOf } from "../storage/database.ts";
import { DatabaseFailure } from "../storage/failure.ts";
import type { CommitObserver } from "../storage/group-commit.ts";
import { ROOT_KEY_ID } from "../storage/installation-rows.ts";
import { type SchemaState, UNFINISHED_COPY, UNFINISHED_COPY_REMEDY } from "../storage/migrate.ts";
import { FolderInUse, type LockHolder, ServerLock } from "../storage/server-lock.ts";
import { type Config, StartProblem } from "./config.ts";
import { beginInstallation, endOfBeginning, type IfEmpty, refuseMissingDatabase } from "./new-installation.ts";
import { findRootKeys, type RememberedRootKeys } from "./root-key/remembered.ts";
import { version } from "./version.ts";

/** The database and the signer of an installation, after checking that they belong together. */
export interface Opened {
  database: Database;
  signer: SignerProcess;
  /** A server's lock on the folder of its SQLite database. */
  lock: ServerLock | undefined;
}

export interface Opening {
  /** `serve` locks a SQLite database for as long as it runs; the other commands work next to a server. */
  command: "serve" | "init" | "rotate" | "archive";
  ifEmpty: IfEmpty;
  observers?: OpeningObservers;
}

/** Receive events of the database and the signer. */
export interface OpeningObservers {
  commits?: CommitObserver;
  signerAnswered?: SignerOptions["onAnswer"];
}

/**
 * Opens the database and the signer. Fails before anything is written if the database is lost, of a newer version or in use, or if the root key
 * does not belong to it.
 *
 * @throws StartProblem
 */
export async function openInstallation(config: Config, log: Logger, opening: Opening): Promise<Opened> {
  const { command, ifEmpty, observers } = opening;
  refuseMissingDatabase(config, ifEmpty);
  const lock = command === "serve" ? lockFolder(config, command) : undefined;
  try {
    const { database, state } = await openDatabaseOf(config, log, observers?.commits);
    try {
      const signer = await openFittingSigner(config, log, opening, { database, state });
      return { database, signer, lock };
    } catch (error) {
      await database.close();
      if (error instanceof DatabaseFailure) throw new StartProblem(`the database does not work: ${error.message}`);
      throw error;
    }
  } catch (error) {
    lock?.release();
    throw error;
  }
}

async function openFittingSigner(
  config: Config,
  log: Logger,
  { command, ifEmpty, observers }: Opening,
  { database, state }: OpenedDatabase,
): Promise<SignerProcess> {
  const known = await rootKeysOrBeginning(config, ifEmpty, { database, state });
  if (known !== undefined && ifEmpty === "begin anew") {
    log.warn("--new-installation has no effect: the database already contains an installation");
  }
  // Only a server upgrades the tables, when its operator starts it; a running server needs the version that they have.
  if (known !== undefined && command !== "serve") refuseOlder(state);
  const lock = command !== "serve" && state.pending.length > 0 ? lockFolder(config, command) : undefined;
  try {
    const signer = await openSigner(config, log, known, observers?.signerAnswered);
    try {
      const migrated = await database.migrate();
      if (migrated.length > 0) log.info({ migrations: migrated }, "the database was migrated to this version");
      if (known === undefined) await rememberRootKey(config, database, signer.rootKeyIds[0] as string);
      endOfBeginning(config);
      return signer;
    } catch (error) {
      await signer.close();
      throw error;
    }
  } finally {
    lock?.release();
  }
}

export interface OpenedDatabase {
  database: Database;
  state: SchemaState;
}

/**
 * Opens the database and checks its schema.
 *
 * @throws StartProblem
 */
export async function openDatabaseOf(config: Config, log: Logger, commits?: CommitObserver): Promise<OpenedDatabase> {
  let database: Database | undefined;
  try {
    makeFolder(config.dataDir, 0o700);
    database = openDatabase({
      url: config.databaseUrl,
      postgres: config.postgres,
      onConnectionError: (error) => log.warn({ reason: error.message }, "a database connection was lost"),
      onFileLost: (file, why) =>
        log.error(
          { reason: `the database ${why}`, file },
          "the database file was removed or replaced: nothing is read or written",
        ),
      commits,
    });
    await refuseUnfitPooler(config, database, log);
    const state = await database.schemaState();
    refuseUnfit(state);
    return { database, state };
  } catch (error) {
    await database?.close();
    if (error instanceof StartProblem) throw error;
    const message =
      error instanceof DatabaseFailure
        ? `the database ${error.reason} (${error.driverMessage})`
        : (error as Error).message;
    throw new StartProblem(`the database cannot be opened: ${message}. Check DATABASE_URL and KEYSTEAD_DATA_DIR`);
  }
}

const POOLER_REMEDY = "set KEYSTEAD_POSTGRES_PREPARED=off";

/** Behind a pooler that switches sessions, prepared statements go missing. This fails not immediately but later, so check it at the start. */
async function refuseUnfitPooler({ postgres }: Config, database: Database, log: Logger): Promise<void> {
  if (!postgres.prepared) return;
  const pooler = await database.pooler();
  if (pooler === "transactions") {
    throw new StartProblem(
      `the database is behind a pooler that gives each transaction another session (PgBouncer with pool_mode = transaction): ${POOLER_REMEDY}`,
    );
  }
  if (pooler === "sessions") {
    log.warn(`the database is behind a pooler; if it gives each transaction another session, ${POOLER_REMEDY}`);
  }
}

/** Refuses a database of a newer version, which this one would misread, and an unfinished copy. */
function refuseUnfit({ unknown }: SchemaState): void {
  if (unknown.length === 0) return;
  if (unknown.includes(UNFINISHED_COPY)) {
    throw new StartProblem(`the database is an unfinished copy; nothing was changed: ${UNFINISHED_COPY_REMEDY}`);
  }
  throw new StartProblem(
    `the database was migrated to a newer version of Keystead than ${version}: it has ${unknown.join(", ")}; nothing was changed. Start the newer version, or restore a backup from before the upgrade`,
  );
}

/** For commands, because only a starting server upgrades the tables of an installation. @throws StartProblem */
export function refuseOlder({ pending }: SchemaState): void {
  if (pending.length === 0) return;
  throw new StartProblem(
    "the database has the tables of an older version; nothing was changed. Start the server once to migrate them, or run the command from the version that your servers run",
  );
}

/** @throws StartProblem that names the holder of the lock */
export function lockFolder({ databaseUrl }: Pick<Config, "databaseUrl">, command: string): ServerLock | undefined {
  const file = sqliteFileOf(databaseUrl);
  if (file === undefined) return undefined;
  const folder = dirname(file);
  const holder = { command, pid: process.pid, host: hostname(), since: new Date().toISOString() };
  try {
    makeFolder(folder, 0o700);
    return ServerLock.take(folder, holder);
  } catch (error) {
    if (!(error instanceof FolderInUse)) {
      const { message } = error as Error;
      throw new StartProblem(
        `the database cannot be opened: its folder cannot be locked (${message}). Check DATABASE_URL and KEYSTEAD_DATA_DIR`,
      );
    }
    throw new StartProblem(
      `${folder} is in use by ${holderText(error.holder)}: only one server can use a SQLite database. Stop the other one first, or set KEYSTEAD_DATA_DIR to another folder`,
    );
  }
}

function holderText(holder: LockHolder | undefined): string {
  if (!holder) return "another Keystead that has only just started";
  const { command, pid, host, since, baseUrl } = holder;
  const at = baseUrl === undefined ? "" : `, ${baseUrl}`;
  return `another Keystead (keystead ${command}, process ${pid} on ${host}, since ${since}${at})`;
}

/** The root keys that the database remembers. If there are none, begins a new installation, or fails. */
async function rootKeysOrBeginning(
  config: Config,
  ifEmpty: IfEmpty,
  { database, state }: OpenedDatabase,
): Promise<RememberedRootKeys | undefined> {
  const known = await readRootKeys(database, state);
  if (known !== undefined) return known;
  try {
    beginInstallation(config, ifEmpty, new Date());
    return undefined;
  } catch (error) {
    // Another server may have created the installation since the first check; it removes its marker after the commit.
    const madeMeanwhile = await readRootKeys(database, await database.schemaState());
    if (madeMeanwhile === undefined) throw error;
    return madeMeanwhile;
  }
}

const readRootKeys = async ({ read }: Database, { isEmpty }: SchemaState): Promise<RememberedRootKeys | undefined> =>
  isEmpty ? undefined : findRootKeys(read);

async function openSigner(
  config: Config,
  log: Logger,
  known: RememberedRootKeys | undefined,
  onAnswer: SignerOptions["onAnswer"],
): Promise<SignerProcess> {
  const { rootKeyFile, rootKeyPassphrase, seedCache, logLevel } = config;
  const started = await SignerProcess.start({
    rootKeyFile,
    passphrase: rootKeyPassphrase,
    mayCreateRootKey: known === undefined,
    sealsWith: known?.current,
    seedCache,
    recordUses: ["trace", "debug", "info"].includes(logLevel),
    compileCacheDirectory: getCompileCacheDir(),
    onAnswer,
    log,
  }).catch((error: unknown) => {
    if (error instanceof SignerRefused) throw new StartProblem(error.message);
    throw new StartProblem(`the signer process could not be started: ${(error as Error).message}`);
  });
  const { signer, opened } = started;
  const problem = rootKeyProblem(config, opened, known);
  if (!problem) return signer;
  await signer.close();
  throw new StartProblem(problem);
}

function rootKeyProblem(
  { rootKeyFile }: Config,
  opened: OpenResponse,
  known: RememberedRootKeys | undefined,
): string | undefined {
  if (opened.state === "sealed") {
    if (known !== undefined) return undefined;
    return `the root key file ${rootKeyFile} is protected by a passphrase; set KEYSTEAD_ROOT_KEY_PASSPHRASE for the first start`;
  }
  const { rootKeyIds } = opened;
  if (known === undefined) return undefined;
  if (!rootKeyIds.includes(known.current)) {
    return `the root key in ${rootKeyFile} is not the one that sealed the keys in this database; nothing was changed. Point KEYSTEAD_ROOT_KEY_FILE to the right file, or DATABASE_URL to the right database. After a rotation, copy the file from the server on which it was rotated`;
  }
  if (known.previous === undefined || rootKeyIds.includes(known.previous)) return undefined;
  return `the root key file ${rootKeyFile} does not contain the previous root key ${known.previous}, which is needed until its rotation is complete; nothing was changed. Use a copy of the file that contains both, and run: keystead root-key rotate`;
}

async function rememberRootKey({ rootKeyFile }: Config, database: Database, rootKeyId: string): Promise<void> {
  const remembered = await database.transact("installation", async (tx) => {
    await tx
      .insertInto("installation")
      .values({ name: ROOT_KEY_ID, value: rootKeyId })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
    const row = await tx
      .selectFrom("installation")
      .select("value")
      .where("name", "=", ROOT_KEY_ID)
      .executeTakeFirstOrThrow();
    return row.value;
  });
  if (remembered === rootKeyId) return;
  throw new StartProblem(
    `another server has created its own root key for this database; copy its root key file to ${rootKeyFile}`,
  );
}
