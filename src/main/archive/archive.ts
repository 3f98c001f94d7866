import { existsSync } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { type Archived, removeArchived } from "../../engine/activities/archived.ts";
import { archiveKey } from "../../engine/keys/archive-key.ts";
import { ensureServiceKeys } from "../../engine/keys/service-keys.ts";
import { DAY_MS } from "../../kernel/durations.ts";
import { ARCHIVED_ACTIVITIES_AT_ONCE, MIN_ARCHIVE_AGE_MS } from "../../kernel/limits.ts";
import { syncFolder } from "../../kernel/sync-folder.ts";
import type { Signer } from "../../signer/client.ts";
import type { Progress } from "../../storage/backup/write-file.ts";
import type { Database } from "../../storage/database.ts";
import { ArchiveProblem, type Manifest, type Seal } from "./format.ts";
import { openArchive, readOpenArchive } from "./read.ts";
import { archiveKeysOf, refuseForeign } from "./verify.ts";
import { installationOf, writeArchive } from "./write.ts";

export interface ArchiveOptions {
  file: string;
  /** Milliseconds. */
  before: number;
  now: number;
  onProgress: Progress;
}

export interface ArchiveSummary {
  file: string;
  before: string;
  activities: number;
  sha256: string;
  keyId: string;
  /** Fewer than in the file if an earlier run removed the others, or if webhook events still need some. */
  removed: number;
}

/**
 * Writes old activities to a file, reads it back, and removes its contents from the database. To resume an interrupted run, run the same command
 * again: if the file is complete already, only the removal is done.
 *
 * @throws ArchiveProblem
 */
export async function archive(
  store: { database: Database; signer: Signer },
  { file, before, now, onProgress }: ArchiveOptions,
): Promise<ArchiveSummary> {
  if (before > now - MIN_ARCHIVE_AGE_MS) {
    throw new ArchiveProblem(
      `--before must be ${MIN_ARCHIVE_AGE_MS / DAY_MS} days ago or more: younger activities are still in use`,
    );
  }
  await ensureServiceKeys(store, [archiveKey], now);
  if (!existsSync(file)) await writeArchive(store, { file, before, now });
  // Keep the file open until the end, so that exactly the contents of the verified file are removed.
  const handle = await openArchive(file);
  try {
    const seal = await requireOwn(store.database, { file, handle, before });
    await keep(file, handle);
    const removed = await remove(store.database, { file, handle, before, all: seal.activities, onProgress });
    const { activities, sha256, keyId } = seal;
    return { file, before: new Date(before).toISOString(), activities, sha256, keyId, removed };
  } finally {
    await handle.close();
  }
}

interface Found {
  file: string;
  handle: FileHandle;
  before: number;
}

/** Syncs the file to disk, because an earlier run may have been interrupted, or the file copied, without that. */
async function keep(file: string, handle: FileHandle): Promise<void> {
  try {
    // On Windows, syncing needs write access.
    if (process.platform !== "win32") await handle.sync();
    syncFolder(dirname(resolve(file)));
  } catch (error) {
    throw new ArchiveProblem(`${file} could not be flushed to the disk: ${(error as Error).message}`);
  }
}

/** Refuses a file that is damaged or that belongs to another installation or date, so that nothing is removed because of it. */
async function requireOwn({ read }: Database, { file, handle, before }: Found): Promise<Seal> {
  let manifest: Manifest | undefined;
  let seal: Seal | undefined;
  for await (const part of readOpenArchive(file, handle)) {
    if ("manifest" in part) ({ manifest } = part);
    else if ("seal" in part) ({ seal } = part);
  }
  const [begin, end] = [manifest as Manifest, seal as Seal];
  if (begin.installationId !== (await installationOf(read))) {
    throw new ArchiveProblem(
      `the file ${file} exists already, as an archive of another installation; name another file`,
    );
  }
  await refuseForeign(file, begin, end, await archiveKeysOf(read));
  if (Date.parse(begin.before) === before) return end;
  throw new ArchiveProblem(
    `the file ${file} exists already, as an archive of activities before ${begin.before}. Use --before ${begin.before} to remove from the database what is in it, or name another file`,
  );
}

interface Removal extends Found {
  all: number;
  onProgress: Progress;
}

async function remove(database: Database, { file, handle, before, all, onProgress }: Removal): Promise<number> {
  let organizationId = "";
  let batch: Archived[] = [];
  let [done, removed] = [0, 0];
  const flush = async () => {
    if (batch.length === 0) return;
    const [owner, activities] = [organizationId, batch];
    removed += await database.transact(owner, (tx) => removeArchived(tx, owner, activities, before));
    done += batch.length;
    batch = [];
    onProgress(done, all);
  };
  for await (const part of readOpenArchive(file, handle)) {
    if (!("archived" in part)) continue;
    const { id, organization_id, updated_at: updatedAt } = part.archived.activity;
    if (organization_id !== organizationId || batch.length >= ARCHIVED_ACTIVITIES_AT_ONCE) await flush();
    organizationId = organization_id;
    batch.push({ id, updatedAt });
  }
  await flush();
  return removed;
}
