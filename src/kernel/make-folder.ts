import { mkdirSync, statSync } from "node:fs";
import { stat } from "node:fs/promises";
import { dirname } from "node:path";

/**
 * Makes a folder, and those above it. Node's own way of making them all does not end on a file system that says of a folder which is there
 * that it is not, as `/proc` does and mounts that come and go may.
 *
 * @throws what the file system says
 */
export function makeFolder(folder: string, mode: number): void {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return;
  try {
    mkdirSync(folder, { mode });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const parent = dirname(folder);
    // Somebody else may just have made it.
    if (code === "EEXIST" && statSync(folder).isDirectory()) return;
    if (code !== "ENOENT" || statSync(parent, { throwIfNoEntry: false })) throw error;
    makeFolder(parent, mode);
    makeFolder(folder, mode);
  }
}

/** The same where it is there nearly always, without holding up the event loop to find out. */
export const ensureFolder = (folder: string, mode: number): Promise<void> =>
  stat(folder).then(
    () => {},
    () => makeFolder(folder, mode),
  );
