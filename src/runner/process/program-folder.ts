import { spawn } from "node:child_process";
import { lstat, opendir } from "node:fs/promises";
import { join } from "node:path";

/** How much a program may keep in its folder. */
export interface FolderBound {
  /** Bytes on disk. A sparse file counts only for the space that it uses. */
  bytes: number;
  /** Files and folders. */
  entries: number;
}

const BLOCK_BYTES = 512;

/**
 * How a folder exceeds the bound, as text that follows "it holds". Undefined if it does not. The check stops at the first excess, so that a
 * program cannot make it read more entries than allowed.
 */
export async function excessIn(folder: string, { bytes, entries }: FolderBound): Promise<string | undefined> {
  let used = 0;
  let count = 0;
  const unread = [folder];
  for (let next = unread.pop(); next !== undefined; next = unread.pop()) {
    try {
      for await (const entry of await opendir(next)) {
        const path = join(next, entry.name);
        count += 1;
        used += await bytesOnDisk(path);
        if (count > entries) return `more than ${entries} files and folders`;
        if (used > bytes) return `more than ${bytes} bytes`;
        if (entry.isDirectory()) unread.push(path);
      }
    } catch (error) {
      // A program may delete its files at any time. A program that makes a folder inaccessible, or nests folders too deeply, hides their
      // content.
      if (!isGone(error)) return "a folder that cannot be read";
    }
  }
  return undefined;
}

async function bytesOnDisk(path: string): Promise<number> {
  try {
    return (await lstat(path)).blocks * BLOCK_BYTES;
  } catch (error) {
    if (isGone(error)) return 0;
    throw error;
  }
}

const isGone = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === "ENOENT";

/**
 * Node's own `rm` fails on paths that are longer than the system allows. A program that runs as the same user may also have made folders
 * inaccessible.
 */
const REMOVE = 'chmod -R u+rwx "$0"; rm -rf "$0"';

/** Deletes a program's folder, whatever the program has put into it. The folder need not exist. */
export function removeFolder(folder: string): Promise<void> {
  return new Promise((resolve) => {
    const child = spawn("/bin/sh", ["-c", REMOVE, folder], { stdio: "ignore" });
    child.on("error", () => resolve());
    child.on("exit", () => resolve());
  });
}
