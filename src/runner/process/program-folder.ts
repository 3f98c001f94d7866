import { spawn } from "node:child_process";
import { lstat, opendir } from "node:fs/promises";
import { join } from "node:path";

/** How much a program may keep in its folder. */
export interface FolderBound {
  /** Bytes on the disk, so that a sparse file counts only for what it takes. */
  bytes: number;
  /** Files and folders. */
  entries: number;
}

const BLOCK_BYTES = 512;

/**
 * What a folder holds beyond the bound, in words that follow "it holds"; undefined if it holds no more. It stops at the first excess, so
 * a program cannot make it walk through more entries than it may have.
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
      // A program may delete its files at any time. One that locks a folder, or nests folders too deep, hides what is in them.
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

/** Node's own `rm` fails on paths longer than the system takes, and a program that is no other user may have locked folders. */
const REMOVE = 'chmod -R u+rwx "$0"; rm -rf "$0"';

/** Removes a folder of a program, whatever the program has put into it. It need not be there. */
export function removeFolder(folder: string): Promise<void> {
  return new Promise((resolve) => {
    const child = spawn("/bin/sh", ["-c", REMOVE, folder], { stdio: "ignore" });
    child.on("error", () => resolve());
    child.on("exit", () => resolve());
  });
}
