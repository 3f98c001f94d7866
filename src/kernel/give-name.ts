import { closeSync, linkSync, openSync, renameSync, rmSync } from "node:fs";

/** Error codes of file systems without hard links. */
const NO_LINKS = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"]);

/**
 * Renames a file to its final name, without ever replacing another file.
 *
 * @throws errors of the file system: EEXIST if a file has that name
 */
export function giveName(written: string, name: string): void {
  try {
    linkSync(written, name);
  } catch (error) {
    if (!NO_LINKS.has((error as NodeJS.ErrnoException).code ?? "")) throw error;
    // Creating the empty file reserves the name: only the process that created it may replace it.
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
