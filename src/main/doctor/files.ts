import { accessSync, constants, readFileSync, type Stats, statSync } from "node:fs";
import { sqliteFileOf } from "../../storage/database.ts";
import { type Config, secretSettings } from "../config.ts";
import { credentialsFileIn } from "../credentials-file.ts";
import { type Finding, fail, ok, warn } from "./finding.ts";

/**
 * That nobody but the server's user can read what it keeps, and that this user can write it. The root key file is not among them:
 * the signer looks at it, and opens none that others can read.
 */
export function checkFiles(config: Config, configFile: string | undefined): Finding[] {
  // There, files have no mode.
  if (process.platform === "win32") return [];
  const { dataDir, databaseUrl } = config;
  const folder = statOf(dataDir);
  if (!folder) return [warn("files", `there is no data directory ${dataDir}; the first start makes it`)];
  const file = sqliteFileOf(databaseUrl);
  const secret = [
    credentialsFileIn(dataDir),
    ...(file === undefined ? [] : [file, `${file}-wal`]),
    ...(configFile !== undefined && holdsSecrets(configFile) ? [configFile] : []),
  ];
  const problems = [
    ...ownerProblem(dataDir, folder),
    ...writeProblem(dataDir),
    ...modeProblem(dataDir, "700"),
    ...secret.flatMap((each) => modeProblem(each, "600")),
  ];
  return problems.length > 0 ? problems : [ok("files", `${dataDir} and what is in it are for their owner alone`)];
}

function statOf(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}

/** Commands that run as another user leave files that the server cannot open. */
function ownerProblem(dataDir: string, { uid }: Stats): Finding[] {
  const own = process.getuid?.();
  if (own === uid) return [];
  return [warn("files", `${dataDir} belongs to user ${uid} and this runs as user ${own}; run keystead as that user`)];
}

function writeProblem(dataDir: string): Finding[] {
  try {
    accessSync(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
    return [];
  } catch {
    return [fail("files", `${dataDir} cannot be read and written by this user; run: chown -R <user> ${dataDir}`)];
  }
}

function modeProblem(path: string, wanted: "600" | "700"): Finding[] {
  const mode = statOf(path)?.mode;
  if (mode === undefined || (mode & 0o077) === 0) return [];
  const shown = (mode & 0o777).toString(8).padStart(4, "0");
  return [warn("files", `${path} has mode ${shown}, so that others can get at it; run: chmod ${wanted} ${path}`)];
}

function holdsSecrets(configFile: string): boolean {
  const given = JSON.parse(readFileSync(configFile, "utf8")) as Record<string, unknown>;
  // URLs of nodes hold keys.
  return [...secretSettings, "chains", "onRamp", "swaps"].some((name) => given[name] !== undefined);
}
