import { open, rename } from "node:fs/promises";
import { join } from "node:path";
import { ensureFolder } from "../kernel/make-folder.ts";

/** Writes a file for readers that watch the folder: it appears under its name only when it is complete and on disk. */
export async function writeWhole(folder: string, name: string, content: Uint8Array): Promise<void> {
  await ensureFolder(folder, 0o700);
  const temporary = join(folder, `.${name}.${process.pid}.tmp`);
  const file = await open(temporary, "w", 0o600);
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, join(folder, name));
}
