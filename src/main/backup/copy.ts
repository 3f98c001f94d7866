import { existsSync, realpathSync } from "node:fs";
import { hostname } from "node:os";
import { dirname, resolve } from "node:path";
import { setTimeout } from "node:timers/promises";
import { SERVER_ALIVE_MS } from "../../kernel/limits.ts";
import { copyRows } from "../../storage/backup/copy-rows.ts";
import { CopyTarget, Overtaken } from "../../storage/backup/copy-target.ts";
import { BackupProblem } from "../../storage/backup/problem.ts";
import { asProblem, openSnapshot, type Snapshot } from "../../storage/backup/snapshot.ts";
import type { Progress } from "../../storage/backup/write-file.ts";
import { openDatabase, sqliteFileOf } from "../../storage/database.ts";
import { FolderInUse, ServerLock } from "../../storage/server-lock.ts";
import { StartProblem } from "../config.ts";
import { lockFolder } from "../open.ts";
import { isAlive } from "../operators/servers.ts";

export interface CopyOptions {
  from: string;
  to: string;
  onProgress: Progress;
  /** Receives warnings for the operator; the copy continues. */
  warn: (text: string) => void;
}

export interface Copied {
  schema: string;
  rows: number;
  /** How many of them an earlier run had already copied. */
  kept: number;
}

/**
 * Copies a snapshot of a database into an empty target of either engine, or resumes an unfinished copy. The target is read back and compared with
 * the source. Until then, no server can start on the target. While the copy runs, no server can start on a SQLite database that is its source or
 * target.
 *
 * @throws StartProblem, BackupProblem
 */
export async function copyDatabase({ from, to, onProgress, warn }: CopyOptions): Promise<Copied> {
  for (const [option, url] of [
    ["--from", from],
    ["--to", to],
  ] as const) {
    if (/^(sqlite:.+|postgres(ql)?:\/\/.+)$/.test(url)) continue;
    throw new StartProblem(`${option} must be sqlite:<file> or postgres://…`);
  }
  const { lock: sourceLock, problem } = lockSource(from);
  let targetLock: ServerLock | undefined;
  try {
    // If both databases are in one folder, it is locked already; the existing target database determines whether the copy resumes.
    if (folderOf(from) === undefined || folderOf(from) !== folderOf(to))
      targetLock = lockFolder({ databaseUrl: to }, "copy");
    const snapshot = await openSnapshot(from).catch((error: unknown) => {
      throw problemOf("--from", error);
    });
    try {
      if (problem !== undefined) warn(`${problem}: ${RUNNING}`);
      const isUsed = problem !== undefined || (sourceLock === undefined && (await warnOfServers(snapshot, warn)));
      const mayBeUsed = async () => isUsed || (sourceLock === undefined && (await hasServerNow(from)));
      return await copySnapshot(snapshot, { to, mayBeUsed }, { onProgress, warn });
    } finally {
      await snapshot.close();
    }
  } finally {
    targetLock?.release();
    sourceLock?.release();
  }
}

async function copySnapshot(
  snapshot: Snapshot,
  { to, mayBeUsed }: { to: string; mayBeUsed: () => Promise<boolean> },
  { onProgress, warn }: Pick<CopyOptions, "onProgress" | "warn">,
): Promise<Copied> {
  const target = await CopyTarget.open(to, snapshot).catch((error: unknown) => {
    throw problemOf("--to", error);
  });
  try {
    if (target.begun !== undefined) warn(`continuing the copy that was last run at ${target.begun}`);
    const kept = await copyRows(snapshot, target, onProgress);
    // What servers do after the snapshot is not known to the target, just as what was done after a backup is not known to a restored database.
    await target.finish({ isRestore: await mayBeUsed() });
    const rows = Object.values(snapshot.counts).reduce((sum, count) => sum + count, 0);
    // In a new target, the kept rows are those that migrations inserted.
    return { schema: snapshot.schema, rows, kept: target.begun === undefined ? 0 : kept };
  } catch (error) {
    if (error instanceof Overtaken) throw error;
    const { message } = problemOf(await failedOf(snapshot), error);
    throw new BackupProblem(`${message}. What was copied so far is kept: run the same command again to continue`);
  } finally {
    await target.close();
  }
}

type Option = "--from" | "--to";

const problemOf = (option: Option, error: unknown): BackupProblem =>
  new BackupProblem(`${option}: ${asProblem(error).message}`);

const ANSWER_MS = 5000;

/** Which side failed while rows were copied: the source if it no longer answers, otherwise the target. */
const failedOf = ({ reader }: Snapshot): Promise<Option> =>
  Promise.race([
    reader.all("select 1").then(
      () => "--to" as const,
      () => "--from" as const,
    ),
    setTimeout(ANSWER_MS, "--from" as const, { ref: false }),
  ]);

/** The folder of a SQLite database, which may not exist yet; undefined for PostgreSQL. */
function folderOf(url: string): string | undefined {
  const file = sqliteFileOf(url);
  if (file === undefined) return undefined;
  const folder = resolve(dirname(file));
  return existsSync(folder) ? realpathSync(folder) : folder;
}

const RUNNING = "the copy will not contain what it writes from now on, and is treated like a restored backup";

/** Only an estimate: servers that have not registered in the database yet are missing, and recently killed ones are included. */
async function warnOfServers({ counts, reader }: Snapshot, warn: (text: string) => void): Promise<boolean> {
  // Databases of early versions have no such table.
  if (!counts.servers) return false;
  const [newest] = await reader.all("select host, pid, seen_at from servers order by seen_at desc limit 1");
  if (!newest) return false;
  const [host, pid, seenAt] = newest;
  if (!isAlive(Number(seenAt), Date.now())) return false;
  warn(
    `a server is running on the source, or was within the last ${SERVER_ALIVE_MS / 1000} seconds, as process ${pid} on ${host}: ${RUNNING}`,
  );
  return true;
}

/** The same of a PostgreSQL source after its rows were copied, when the snapshot does not show it. If nobody can tell, there may be one. */
async function hasServerNow(from: string): Promise<boolean> {
  const database = openDatabase({ url: from, onConnectionError: () => {} });
  try {
    const newest = await database.read
      .selectFrom("servers")
      .select((select) => select.fn.max("seen_at").as("seenAt"))
      .executeTakeFirst();
    return isAlive(Number(newest?.seenAt ?? 0), Date.now());
  } catch {
    return true;
  } finally {
    await database.close();
  }
}

interface LockedSource {
  lock?: ServerLock;
  /** Why a server may be running there, if the lock was not to be had. */
  problem?: string;
}

/** Prevents servers from starting on a SQLite source while the copy runs, unless one runs there already. */
function lockSource(from: string): LockedSource {
  const file = sqliteFileOf(from);
  if (file === undefined) return {};
  try {
    const since = new Date().toISOString();
    const lock = ServerLock.take(dirname(file), { command: "copy", pid: process.pid, host: hostname(), since });
    return { lock };
  } catch (error) {
    if (error instanceof FolderInUse) return { problem: "a server is running on the source" };
    return {
      problem: `the folder of the source cannot be locked (${(error as Error).message}), so a server may be running there`,
    };
  }
}
