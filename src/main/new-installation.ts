import { existsSync, renameSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { inWords } from "../kernel/in-words.ts";
import { makeFolder } from "../kernel/make-folder.ts";
import { syncFolder } from "../kernel/sync-folder.ts";
import { sqliteFileOf } from "../storage/database.ts";
import { type Config, StartProblem } from "./config.ts";
import { credentialsFileIn, writeFileDurably } from "./credentials-file.ts";

/**
 * An empty database beside the files of an installation is most likely the wrong one, or what is left of the right one: served,
 * it would take the place of the installation without a word. A start makes a new installation only where nothing speaks against
 * it, or where it is told to.
 */

/** What is to become of an empty database: an error, a new installation if nothing speaks against it, or one in any case. */
export type IfEmpty = "refuse" | "begin" | "begin anew";

/**
 * There from before a root key is made until the database remembers it. A start that was killed in between leaves a root key
 * beside an empty database; this file beside the key says that it was no other installation's, also to a second server with the
 * same key file that starts at the same time. Credentials are written later than that.
 */
const markerOf = ({ rootKeyFile }: Config): string => `${rootKeyFile}.first-start`;

/** There while a backup is restored: an empty database beside it is what is left of one that was killed. */
export const restoreMarkerOf = ({ dataDir }: Config): string => join(dataDir, "restore.unfinished.json");

/** The database is whole, or empty again. */
export const endOfRestore = (config: Config): void => rmSync(restoreMarkerOf(config), { force: true });

const isInMemory = ({ databaseUrl }: Config): boolean =>
  databaseUrl.startsWith("sqlite:") && sqliteFileOf(databaseUrl) === undefined;

/**
 * Before anything is opened: a SQLite file that is missing or has no content would be made anew by opening it, and what its log
 * still holds would be thrown away.
 *
 * @throws StartProblem
 */
export function refuseMissingDatabase(config: Config, ifEmpty: IfEmpty): void {
  const file = sqliteFileOf(config.databaseUrl);
  if (file === undefined || hasContent(file)) return;
  refuseEmptyDatabase(config, ifEmpty, hasContent(`${file}-wal`) ? [`${file}-wal`] : []);
}

/**
 * The database is empty: what it is to become begins now, or the start ends here.
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
  // A key that is there was provided, and is not to be excused.
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

/** The database remembers its root key: from now on it is no longer empty. */
export function endOfBeginning(config: Config): void {
  const marker = markerOf(config);
  if (existsSync(marker)) rmSync(marker, { force: true });
  // One that was killed between its last two steps.
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
      `the database ${nameOf(config)} is empty, but ${inWords(signs)} ${are} there from an installation: restore its database, or set DATABASE_URL and KEYSTEAD_DATA_DIR to where it is; if a new installation is meant, start with --new-installation`,
    );
  }
  if (ifEmpty === "refuse") {
    throw new StartProblem(`the database ${nameOf(config)} is empty; start the server once`);
  }
}

/** What an installation leaves beside its database. */
function signsOf(config: Config): string[] {
  // In memory it says nothing that the database is empty, and what is made lasts no longer.
  if (isInMemory(config)) return [];
  const { dataDir, rootKeyFile } = config;
  const signs = existsSync(markerOf(config)) ? [] : [rootKeyFile];
  return [...signs, credentialsFileIn(dataDir)].filter(existsSync);
}

const hasContent = (file: string): boolean => existsSync(file) && statSync(file).size > 0;

/** Without user and password. */
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
