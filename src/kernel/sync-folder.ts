import { closeSync, fsyncSync, openSync } from "node:fs";

/** Syncs a folder. A power cut may lose the name of a new file, which is an entry of the folder, even if the file itself is synced. */
export function syncFolder(folder: string): void {
  // Folders cannot be opened on Windows, whose file system journals them.
  if (process.platform === "win32") return;
  const descriptor = openSync(folder, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
