import { accessSync, constants, readFileSync, type Stats, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { freeBytesAt, nearestThere } from "../../kernel/free-bytes.ts";
import { LOW_ROOM_BYTES, NO_ROOM_BYTES } from "../../kernel/limits.ts";
import { sqliteFileOf } from "../../storage/database.ts";
import { LOCK_FILES } from "../../storage/server-lock.ts";
import { type Config, secretSettings } from "../config.ts";
import { credentialsFileIn } from "../credentials-file.ts";
import { type Finding, fail, ok, warn } from "./finding.ts";
import { hiddenBy, hiddenText } from "./reach.ts";

/**
 * Checks that only the server's user can read the server's files, and that this user can write them. The root key file is not included,
 * because the signer checks it and refuses one that others can read.
 */
export function checkFiles(config: Config, configFile: string | undefined): Finding[] {
  // Files have no mode on Windows.
  if (process.platform === "win32") return [];
  const { dataDir, databaseUrl } = config;
  const hidden = hiddenBy(dataDir);
  if (hidden !== undefined) return [fail("files", hiddenText(dataDir, hidden))];
  const folder = statOf(dataDir);
  if (!folder) return [warn("files", `the data directory ${dataDir} does not exist; the first start creates it`)];
  const file = sqliteFileOf(databaseUrl);
  const secret = [
    credentialsFileIn(dataDir),
    ...(file === undefined ? [] : [file, `${file}-wal`]),
    ...(configFile !== undefined && holdsSecrets(configFile) ? [configFile] : []),
  ];
  const problems = [
    ...ownerProblem(dataDir, folder),
    ...writeProblem(dataDir),
    ...(file === undefined ? [] : filesOf(file).flatMap(fileProblem)),
    ...modeProblem(dataDir, "700"),
    ...secret.flatMap((each) => modeProblem(each, "600")),
  ];
  return problems.length > 0 ? problems : [ok("files", `only their owner can access ${dataDir} and the files in it`)];
}

const filesOf = (file: string): string[] => [
  ...["", "-wal", "-shm"].map((suffix) => file + suffix),
  ...LOCK_FILES.map((name) => join(dirname(file), name)),
];

function statOf(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}

/** Commands that run as another user create files that the server cannot open. */
function ownerProblem(dataDir: string, { uid }: Stats): Finding[] {
  const own = process.getuid?.();
  if (own === uid) return [];
  return [
    warn(
      "files",
      `${dataDir} belongs to user ${uid}, but this command runs as user ${own}; run keystead as user ${uid}`,
    ),
  ];
}

function writeProblem(dataDir: string): Finding[] {
  try {
    accessSync(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
    return [];
  } catch (error) {
    const text =
      (error as NodeJS.ErrnoException).code === "EROFS"
        ? `${dataDir} is on a read-only file system; mount it for writing`
        : `this user cannot read and write ${dataDir}; run: ${accessRemedy(dataDir)}`;
    return [fail("files", text)];
  }
}

const accessRemedy = (dataDir: string): string =>
  statOf(dataDir)?.uid === process.getuid?.() ? `chmod 700 ${dataDir}` : `chown -R <user> ${dataDir}`;

/** SQLite also opens files that it cannot write, so without this check only a write would fail. */
function fileProblem(path: string): Finding[] {
  const stats = statOf(path);
  if (!stats) return [];
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
    return [];
  } catch {
    const remedy =
      stats.uid === process.getuid?.() ? `chmod 600 ${path}` : `chown <user> ${path}, and chmod 600 ${path}`;
    return [fail("files", `this user cannot read and write ${path}; run: ${remedy}`)];
  }
}

function modeProblem(path: string, wanted: "600" | "700"): Finding[] {
  const mode = statOf(path)?.mode;
  if (mode === undefined || (mode & 0o077) === 0) return [];
  const shown = (mode & 0o777).toString(8).padStart(4, "0");
  return [warn("files", `${path} has mode ${shown}, so other users can access it; run: chmod ${wanted} ${path}`)];
}

function holdsSecrets(configFile: string): boolean {
  const given = JSON.parse(readFileSync(configFile, "utf8")) as Record<string, unknown>;
  // The URLs of nodes may contain keys.
  return [...secretSettings, "chains", "onRamp", "swaps"].some((name) => given[name] !== undefined);
}

interface Place {
  folder: string;
  what: string;
  /** Less free space than this, in bytes, is a problem. */
  needed: number;
}

/** Checks the free disk space for the database and other files. Returns one finding for each place that is short of it. */
export function checkRoom(config: Pick<Config, "dataDir" | "databaseUrl" | "backup" | "audit">): Finding[] {
  const findings = placesOf(config).flatMap(roomProblem);
  return findings.length > 0 ? findings : [ok("room", "there is enough free space where the server writes")];
}

function placesOf({ dataDir, databaseUrl, backup, audit }: Parameters<typeof checkRoom>[0]): Place[] {
  const file = sqliteFileOf(databaseUrl);
  // A backup is at most as large as its database. The size of a PostgreSQL database is not known here.
  const ofBackup = file === undefined ? 0 : (statOf(file)?.size ?? 0);
  const places = [
    ...(file === undefined ? [] : [{ what: "the database", folder: dirname(file), needed: 0 }]),
    // Skip the data directory if it is also the database's folder, as it usually is.
    ...(file !== undefined && resolve(dirname(file)) === resolve(dataDir)
      ? []
      : [{ what: "the data directory", folder: dataDir, needed: 0 }]),
    ...(backup ? [{ what: "backups", folder: backup.directory, needed: ofBackup }] : []),
    ...(audit?.file ? [{ what: "the audit file", folder: dirname(audit.file.path), needed: audit.file.maxBytes }] : []),
  ];
  return places.map((place) => ({ ...place, needed: Math.max(place.needed, LOW_ROOM_BYTES) }));
}

function roomProblem({ what, folder, needed }: Place): Finding[] {
  const free = freeBytesAt(nearestThere(folder));
  if (free === undefined || free >= needed) return [];
  const text = `${free} bytes are free in ${folder} for ${what}; there should be at least ${needed}`;
  if (free >= NO_ROOM_BYTES) return [warn("room", `${text}; make room, or move it to a larger disk`)];
  return [fail("room", `${text}. Writes there will soon fail: make room, or move it to a larger disk`)];
}
