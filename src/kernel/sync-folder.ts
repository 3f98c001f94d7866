import { closeSync, fsyncSync, openSync } from "node:fs";

/** The name is an entry of the folder, which a power cut may lose while it keeps the file. */
export function syncFolder(folder: string): void {
  // There, folders cannot be opened; the system keeps its journal of them by itself.
  if (process.platform === "win32") return;
  const descriptor = openSync(folder, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
