import { existsSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { inWords } from "../kernel/in-words.ts";
import { makeFolder } from "../kernel/make-folder.ts";
import { syncFolder } from "../kernel/sync-folder.ts";
import { sqliteFileOf } from "../storage/database.ts";
import { type Config, StartProblem } from "./config.ts";
import { credentialsFileIn, writeFileDurably } from "./credentials-file.ts";

/**
 * An empty database next to the files of an installation is probably the wrong database, or the remains of the right one. A start that used it
 * would silently replace the installation. So a start creates a new installation only if no such files exist, or if the operator says so.
 */

/** What to do with an empty database: fail; create a new installation if no files of another exist; or create one in any case. */
export type IfEmpty = "refuse" | "begin" | "begin anew";

/**
 * This marker exists from before a root key is created until the database has stored its id. A start that is killed in between leaves a root key
 * next to an empty database. The marker then shows that the key does not belong to another installation, also to a second server that starts
 * with the same key file at the same time. Credentials are written only after that.
 */
const markerOf = ({ rootKeyFile }: Config): string => `${rootKeyFile}.first-start`;

/** This marker exists while a backup is restored. An empty database next to it is the remains of a restore that was killed. */
export const restoreMarkerOf = ({ dataDir }: Config): string => join(dataDir, "restore.unfinished.json");

/** Call this when the database is complete, or empty again. */
export const endOfRestore = (config: Config): void => rmSync(restoreMarkerOf(config), { force: true });

const isInMemory = ({ databaseUrl }: Config): boolean =>
  databaseUrl.startsWith("sqlite:") && sqliteFileOf(databaseUrl) === undefined;

/**
 * Call this before anything is opened: opening a missing or empty SQLite file would create a new database and discard the contents of its
 * write-ahead log.
 *
 * @throws StartProblem
 */
export function refuseMissingDatabase(config: Config, ifEmpty: IfEmpty): void {
  const file = sqliteFileOf(config.databaseUrl);
  if (file === undefined || hasContent(file)) return;
  refuseEmptyDatabase(config, ifEmpty, hasContent(`${file}-wal`) ? [`${file}-wal`] : []);
}

/**
 * Begins a new installation in an empty database, or refuses to.
 *
 * @throws StartProblem
 */
export function beginInstallation(config: Config, ifEmpty: IfEmpty, now: Date): void {
  refuseEmptyDatabase(config, ifEmpty);
  if (isInMemory(config)) return;
  const { dataDir } = config;
  const credentials = credentialsFileIn(dataDir);
  if (existsSync(credentials)) {
    renameSync(credentials, join(dataDir, `credentials-until-${now.toISOString().replaceAll(":", "")}.json`));
    syncFolder(dataDir);
  }
  // An existing key was provided by the operator, so no marker may explain it.
  if (!existsSync(config.rootKeyFile)) writeMarker(config, now);
}

function writeMarker(config: Config, now: Date): void {
  const { rootKeyFile } = config;
  try {
    makeFolder(dirname(rootKeyFile), 0o700);
    writeFileDurably(markerOf(config), `${JSON.stringify({ since: now.toISOString() })}\n`, 0o600);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new StartProblem(`the root key file ${rootKeyFile} cannot be written (${code})`);
  }
}

/** Call this when the database has stored the id of its root key; it is no longer empty then. */
export function endOfBeginning(config: Config): void {
  const marker = markerOf(config);
  if (existsSync(marker)) rmSync(marker, { force: true });
  // A restore may have been killed between its last two steps.
  endOfRestore(config);
}

/** @throws StartProblem unless it may become a new installation */
export function refuseEmptyDatabase(config: Config, ifEmpty: IfEmpty, furtherSigns: readonly string[] = []): void {
  if (ifEmpty === "begin anew") return;
  const unfinished = restoreMarkerOf(config);
  if (existsSync(unfinished)) {
    throw new StartProblem(
      `a restore into the database ${nameOf(config)} was begun and not finished, as ${unfinished} says, and nothing of it is there: run keystead restore again, or remove that file`,
    );
  }
  const signs = [...signsOf(config), ...furtherSigns];
  if (signs.length > 0) {
    const are = signs.length === 1 ? "is" : "are";
    throw new StartProblem(
      `the database ${nameOf(config)} is empty, but ${inWords(signs)} ${are} there from an installation: restore its database, or set DATABASE_URL and KEYSTEAD_DATA_DIR to where it is. To begin a new installation, start with --new-installation`,
    );
  }
  if (ifEmpty === "refuse") {
    throw new StartProblem(`the database ${nameOf(config)} is empty; start the server once`);
  }
}

/** The existing files of an installation besides its database. */
function signsOf(config: Config): string[] {
  // A database in memory is always empty at the start, and a new installation in it does not last.
  if (isInMemory(config)) return [];
  const { dataDir, rootKeyFile } = config;
  const signs = existsSync(markerOf(config)) ? [] : [rootKeyFile];
  return [...signs, credentialsFileIn(dataDir)].filter(existsSync);
}

const hasContent = (file: string): boolean => existsSync(file) && statSync(file).size > 0;

/** The database's name without user and password. */
function nameOf({ databaseUrl }: Config): string {
  const file = sqliteFileOf(databaseUrl);
  if (file !== undefined) return file;
  try {
    const { host, pathname } = new URL(databaseUrl);
    return `${decodeURIComponent(pathname.slice(1))} at ${host || "the local socket"}`;
  } catch {
    return "that DATABASE_URL names";
  }
}
