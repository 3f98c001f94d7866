import { mkdirSync, statSync } from "node:fs";
import { stat } from "node:fs/promises";
import { dirname } from "node:path";

/**
 * Creates a folder and its parents. Node's recursive `mkdir` never returns if the file system reports that an existing folder does not
 * exist, as `/proc` does, and as mounts that come and go may do.
 *
 * @throws errors of the file system
 */
export function makeFolder(folder: string, mode: number): void {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return;
  try {
    mkdirSync(folder, { mode });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const parent = dirname(folder);
    // Another process may just have created it.
    if (code === "EEXIST" && statSync(folder).isDirectory()) return;
    if (code !== "ENOENT" || statSync(parent, { throwIfNoEntry: false })) throw error;
    makeFolder(parent, mode);
    makeFolder(folder, mode);
  }
}

/** As `makeFolder`, but without blocking the event loop. For a folder that almost always exists. */
export const ensureFolder = (folder: string, mode: number): Promise<void> =>
  stat(folder).then(
    () => {},
    () => makeFolder(folder, mode),
  );
