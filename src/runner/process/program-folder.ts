import { spawn } from "node:child_process";
import { lstatSync } from "node:fs";
import { opendir } from "node:fs/promises";
import { join } from "node:path";

/** How much a program may keep in its folder. */
export interface FolderBound {
  /** Bytes on disk. A sparse file counts only for the space that it uses. */
  bytes: number;
  /** Files and folders. */
  entries: number;
}

const BLOCK_BYTES = 512;
/** Entries read at a time. Between two such portions the health checks of all programs get their turn. */
const PORTION = 256;

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
      for await (const entry of await opendir(next, { bufferSize: PORTION })) {
        const path = join(next, entry.name);
        count += 1;
        used += bytesOnDisk(path);
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

/** At once, because waiting for each entry would take many times as long, and a program with many files would delay the checks of others. */
function bytesOnDisk(path: string): number {
  try {
    return lstatSync(path).blocks * BLOCK_BYTES;
  } catch (error) {
    if (isGone(error)) return 0;
    throw error;
  }
}

/** Whether it was removed, or replaced by a file, since its folder was read. */
const isGone = (error: unknown): boolean => ["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "");

/** Node's own `rm` fails on paths that are longer than the system allows. */
const REMOVE = 'rm -rf "$0"';
/**
 * For a program that runs as the same user, and may have made folders inaccessible. Root can remove those anyway, and must not change them:
 * `chmod` could follow a link that a running program puts in its way.
 */
const UNLOCK_AND_REMOVE = `chmod -R u+rwx "$0"; ${REMOVE}`;

/** Deletes a program's folder, whatever the program has put into it. The folder need not exist. */
export function removeFolder(folder: string): Promise<void> {
  const script = process.getuid?.() === 0 ? REMOVE : UNLOCK_AND_REMOVE;
  return new Promise((resolve) => {
    const child = spawn("/bin/sh", ["-c", script, folder], { stdio: "ignore" });
    child.on("error", () => resolve());
    child.on("exit", () => resolve());
  });
}
