import { existsSync } from "node:fs";
import { makeFolder } from "../../kernel/make-folder.ts";
import { load, PlaceProblem, refuseOccupied } from "../../storage/backup/load.ts";
import { neededRootKeys } from "../../storage/backup/manifest.ts";
import { BackupProblem } from "../../storage/backup/problem.ts";
import { type BackupFile, openBackup } from "../../storage/backup/read-file.ts";
import type { Progress } from "../../storage/backup/write-file.ts";
import { type Config, StartProblem } from "../config.ts";
import { writeFileDurably } from "../credentials-file.ts";
import { endOfRestore, restoreMarkerOf } from "../new-installation.ts";
import { lockFolder } from "../open.ts";
import { signerWithRootKey } from "../root-key/signer.ts";

export interface RestoreOptions {
  file: string;
  /** The contents of an age identity file. */
  identity: string | undefined;
  /** The expected digest in hex, as printed when the backup was written. */
  sha256: string | undefined;
  onProgress: Progress;
}

/** `none`: the backup contains nothing sealed. */
type RootKeyCheck = "fits" | "missing, not checked" | "none";

export interface Restored extends BackupFile {
  rootKey: RootKeyCheck;
}

/**
 * Restores a backup into the empty database that the configuration names. Before anything is written, the backup is read to its end, and the
 * root key, if there is one, is checked against it.
 *
 * @throws StartProblem, BackupProblem
 */
export async function restore(
  config: Config,
  { file, identity, sha256, onProgress }: RestoreOptions,
): Promise<Restored> {
  await refuseOccupiedPlace(config);
  const backup = await openBackup({ file, identity });
  refuseOtherDigest(backup, sha256);
  const rootKey = await refuseOtherRootKey(config, backup);
  makeFolder(config.dataDir, 0o700);
  const lock = lockFolder(config, "restore");
  try {
    const begun = { file, since: new Date().toISOString() };
    writeFileDurably(restoreMarkerOf(config), `${JSON.stringify(begun)}\n`, 0o600);
    await load(config.databaseUrl, contentsOf(backup), onProgress);
    endOfRestore(config);
    return { ...backup, rootKey };
  } catch (error) {
    // The restore cleaned up after itself. The marker stays only if the process is killed.
    if (error instanceof BackupProblem) endOfRestore(config);
    if (!(error instanceof PlaceProblem)) throw error;
    throw new StartProblem(
      `${error.message}; nothing was left behind. Make room there, or set KEYSTEAD_DATA_DIR to another folder`,
    );
  } finally {
    lock?.release();
  }
}

export const contentsOf = ({ manifest, tables, pieces }: BackupFile): Parameters<typeof load>[1] => ({
  schema: manifest.schema,
  tables,
  counts: manifest.tables,
  pieces,
});

async function refuseOccupiedPlace(config: Config): Promise<void> {
  try {
    await refuseOccupied(config.databaseUrl);
  } catch (error) {
    const marker = restoreMarkerOf(config);
    if (!(error instanceof BackupProblem) || !existsSync(marker)) throw error;
    throw new StartProblem(
      `${error.message}. A restore was begun here, according to ${marker}. If this database is from that restore, it is complete: start the server`,
    );
  }
}

export function refuseOtherDigest({ sha256 }: BackupFile, expected: string | undefined): void {
  if (expected === undefined || expected.toLowerCase() === sha256) return;
  throw new StartProblem(
    `the backup has the digest ${sha256}, not ${expected}: it is another backup, or it was altered`,
  );
}

async function refuseOtherRootKey(config: Config, { manifest }: BackupFile): Promise<RootKeyCheck> {
  const { rootKeyFile } = config;
  if (manifest.rootKeyId === null) return "none";
  if (!existsSync(rootKeyFile)) return "missing, not checked";
  const signer = await signerWithRootKey(config);
  const { rootKeyIds } = signer;
  await signer.close();
  const needed = neededRootKeys(manifest);
  if (needed.every((id) => rootKeyIds.includes(id))) return "fits";
  throw new StartProblem(
    `the root key in ${rootKeyFile} is not the one that sealed the keys in this backup; nothing was written. Put the root key file that belongs to the backup there, or set KEYSTEAD_ROOT_KEY_FILE`,
  );
}
