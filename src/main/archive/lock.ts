import { hostname } from "node:os";
import { dirname } from "node:path";
import type pg from "pg";
import { ARCHIVE_LOCK_BEAT_MS } from "../../kernel/limits.ts";
import { connectForLong, IDLE_LIMIT } from "../../storage/backup/snapshot.ts";
import { sqliteFileOf } from "../../storage/database.ts";
import { FolderInUse, type LockHolder, ServerLock } from "../../storage/server-lock.ts";
import { ArchiveProblem } from "./format.ts";

/**
 * Allows one archive command at a time for each database. Two at once would lose nothing, because each removes only the contents of its own file,
 * but some activities would be in two archives. The operating system or PostgreSQL releases the lock when the process ends for any reason.
 */
export interface ArchiveLock {
  release(): Promise<void>;
}

/** @throws ArchiveProblem that names the holder of the lock */
export async function lockArchives(databaseUrl: string): Promise<ArchiveLock> {
  const file = sqliteFileOf(databaseUrl);
  if (file === undefined) return lockInPostgres(databaseUrl);
  const holder = { command: "archive", pid: process.pid, host: hostname(), since: new Date().toISOString() };
  try {
    const lock = ServerLock.take(dirname(file), holder, "archive");
    return { release: async () => lock.release() };
  } catch (error) {
    if (error instanceof FolderInUse) throw inUse(error.holder && textOf(error.holder));
    throw error;
  }
}

const textOf = ({ command, pid, host, since }: LockHolder): string =>
  `keystead ${command}, process ${pid} on ${host}, since ${since}`;

const inUse = (holder: string | undefined): ArchiveProblem =>
  new ArchiveProblem(
    `another archive command is working on this database (${holder ?? "it has only just started"}); run this one again when it has ended`,
  );

/** No transaction's scope has this name. */
const LOCK = "keystead archive";

/** PostgreSQL truncates longer names and warns about that. */
const MAX_NAME = 63;

/**
 * Takes the lock in a separate transaction, so that it also works behind a pooler. The transaction reads nothing and so does not prevent vacuum.
 * The connection's application name identifies the holder, and disappears with the connection.
 */
async function lockInPostgres(url: string): Promise<ArchiveLock> {
  const client = await connectForLong(url);
  try {
    const name = `keystead archive, process ${process.pid} on ${hostname()}`.slice(0, MAX_NAME);
    await client.query(`begin; ${IDLE_LIMIT}`);
    await client.query("select set_config('application_name', $1, true)", [name]);
    const { rows } = await client.query<{ taken: boolean }>(
      "select pg_try_advisory_xact_lock(hashtextextended($1, 0)) as taken",
      [LOCK],
    );
    if (!rows[0]?.taken) throw inUse(await holderIn(client));
  } catch (error) {
    await client.end();
    throw error;
  }
  // PostgreSQL ends the connection if it is idle for too long, so that a machine that has failed does not hold the lock forever.
  const beat = setInterval(() => client.query("select 1").catch(() => {}), ARCHIVE_LOCK_BEAT_MS);
  beat.unref();
  return {
    release: async () => {
      clearInterval(beat);
      await client.end();
    },
  };
}

async function holderIn(client: pg.Client): Promise<string | undefined> {
  const { rows } = await client.query<{ name: string; since: Date }>(
    `select a.application_name as name, a.xact_start as since
      from pg_locks as l join pg_stat_activity as a on a.pid = l.pid
      where l.locktype = 'advisory' and l.granted and l.objsubid = 1
        and l.database = (select oid from pg_database where datname = current_database())
        and ((l.classid::bigint << 32) | l.objid::bigint) = hashtextextended($1, 0)`,
    [LOCK],
  );
  const [row] = rows;
  return row && `${row.name}, since ${row.since.toISOString()}`;
}
