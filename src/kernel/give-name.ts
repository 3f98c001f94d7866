import { closeSync, linkSync, openSync, renameSync, rmSync } from "node:fs";

/** File systems without hard links answer so. */
const NO_LINKS = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"]);

/**
 * Gives a file that was written under another name its own, never in the place of another file.
 *
 * @throws what the file system says: EEXIST where there is a file of that name
 */
export function giveName(written: string, name: string): void {
  try {
    linkSync(written, name);
  } catch (error) {
    if (!NO_LINKS.has((error as NodeJS.ErrnoException).code ?? "")) throw error;
    // Whoever makes the empty file may replace it.
    closeSync(openSync(name, "wx", 0o600));
    try {
      renameSync(written, name);
    } catch (failure) {
      rmSync(name);
      throw failure;
    }
    return;
  }
  rmSync(written);
}
