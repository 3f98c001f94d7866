import { renameSync, rmSync } from "node:fs";

/** Each try that finds something in its place was overtaken by somebody else who builds. */
const MAX_TRIES = 20;

/**
 * Puts a folder in a place, whole. A folder cannot be renamed over another one, so what is there is moved away first, and others may do
 * the same at once: where one of them has put the same there meanwhile, theirs stays, as a server may read it already.
 */
export function moveInto(target: string, made: string, isThere: () => boolean): void {
  const old = `${made}.old`;
  for (let tries = 1; !isThere(); tries++) {
    try {
      renameSync(made, target);
      return;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (tries === MAX_TRIES || (code !== "ENOTEMPTY" && code !== "EEXIST")) throw error;
    }
    try {
      renameSync(target, old);
    } catch (error) {
      // Somebody else moved it away first.
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
    rmSync(old, { recursive: true, force: true });
  }
}
