import { mkdirSync } from "node:fs";
import { getCompileCacheDir } from "node:module";
import type { Logger } from "../kernel/log.ts";
import { SignerProcess, SignerRefused } from "../signer/client.ts";
import { type Database, openDatabase } from "../storage/database.ts";
import { DatabaseFailure } from "../storage/failure.ts";
import { type Config, StartProblem } from "./config.ts";

/** The database and the signer of an installation, known to belong together. */
export interface Opened {
  database: Database;
  signer: SignerProcess;
}

const ROOT_KEY_ID = "root_key_id";

/**
 * Opens the database and the signer. A root key that does not fit the database stops here, before anything is written.
 *
 * @throws StartProblem
 */
export async function openInstallation(config: Config, log: Logger): Promise<Opened> {
  const database = await openDatabaseOf(config, log);
  try {
    const knownRootKeyId = await readRootKeyId(database);
    const signer = await openSigner(config, log, knownRootKeyId);
    try {
      const migrated = await database.migrate();
      if (migrated.length > 0) log.info({ migrations: migrated }, "the database was brought up to this version");
      if (knownRootKeyId === undefined) await rememberRootKey(config, database, signer.rootKeyId as string);
    } catch (error) {
      await signer.close();
      throw error;
    }
    return { database, signer };
  } catch (error) {
    await database.close();
    if (error instanceof DatabaseFailure) throw new StartProblem(`the database does not work: ${error.message}`);
    throw error;
  }
}

/** @throws StartProblem */
export async function openDatabaseOf(config: Config, log: Logger): Promise<Database> {
  try {
    mkdirSync(config.dataDir, { recursive: true, mode: 0o700 });
    const onConnectionError = (error: Error) => log.warn({ reason: error.message }, "a database connection was lost");
    const database = openDatabase({ url: config.databaseUrl, onConnectionError });
    await database.ping();
    return database;
  } catch (error) {
    const { message } = error as Error;
    throw new StartProblem(`the database cannot be opened: ${message}. Check DATABASE_URL and KEYSTEAD_DATA_DIR`);
  }
}

async function readRootKeyId(database: Database): Promise<string | undefined> {
  if (await database.isEmpty()) return undefined;
  const rows = await database.read.selectFrom("installation").select("value").where("name", "=", ROOT_KEY_ID).execute();
  return rows[0]?.value;
}

async function openSigner(config: Config, log: Logger, knownRootKeyId: string | undefined): Promise<SignerProcess> {
  const { rootKeyFile, rootKeyPassphrase, seedCache } = config;
  const started = await SignerProcess.start({
    rootKeyFile,
    passphrase: rootKeyPassphrase,
    mayCreateRootKey: knownRootKeyId === undefined,
    seedCache,
    compileCacheDirectory: getCompileCacheDir(),
    log,
  }).catch((error: unknown) => {
    if (error instanceof SignerRefused) throw new StartProblem(error.message);
    throw new StartProblem(`the signer process could not be started: ${(error as Error).message}`);
  });
  const { signer, opened } = started;
  const problem = rootKeyProblem(config, opened, knownRootKeyId);
  if (!problem) return signer;
  await signer.close();
  throw new StartProblem(problem);
}

function rootKeyProblem(
  { rootKeyFile }: Config,
  opened: { state: "open"; rootKeyId: string } | { state: "sealed" },
  knownRootKeyId: string | undefined,
): string | undefined {
  if (opened.state === "sealed") {
    if (knownRootKeyId !== undefined) return undefined;
    return `the root key file ${rootKeyFile} is protected by a passphrase; set KEYSTEAD_ROOT_KEY_PASSPHRASE for the first start`;
  }
  if (knownRootKeyId === undefined || knownRootKeyId === opened.rootKeyId) return undefined;
  return `the root key in ${rootKeyFile} is not the one that sealed the keys in this database; nothing was changed. Point KEYSTEAD_ROOT_KEY_FILE to the right file, or DATABASE_URL to the right database`;
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
    `another server made its own root key for this database; copy its root key file to ${rootKeyFile}`,
  );
}
