import { type FileHandle, open, rename, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { ensureFolder } from "../../kernel/make-folder.ts";
import { syncFolder } from "../../kernel/sync-folder.ts";
import type { FileSettings } from "./settings.ts";
import { type Sink, SinkFailure, sinkFailure, within } from "./sink.ts";

/** An open file, with its device and inode, which show whether the path still leads to it. */
interface OpenFile {
  handle: FileHandle;
  dev: number;
  ino: number;
  /** The size of its complete lines in bytes. */
  size: number;
}

/**
 * Appends to a file, and acknowledges lines only once they are on disk. A full file is renamed to `<path>.1`, the previous one to `<path>.2`,
 * and so on; the oldest is deleted. If another process moves or removes the file, a new one is created.
 */
export class FileSink implements Sink {
  readonly #settings: FileSettings;
  #file: OpenFile | undefined;
  /** The attempt in progress, even if its caller has timed out. */
  #appending: Promise<void> | undefined;

  constructor(settings: FileSettings) {
    this.#settings = settings;
  }

  async deliver(lines: readonly string[], timeoutMs: number): Promise<void> {
    // If the disk hangs, only one attempt waits for it.
    if (this.#appending) throw new SinkFailure("did not accept lines in time");
    this.#appending = this.#append(Buffer.from(lines.map((line) => `${line}\n`).join(""))).finally(() => {
      this.#appending = undefined;
    });
    try {
      await within(timeoutMs, this.#appending);
    } catch (error) {
      throw sinkFailure(error);
    }
  }

  async close(): Promise<void> {
    await this.#appending?.catch(() => {});
    await this.#leave();
  }

  async #append(bytes: Buffer): Promise<void> {
    try {
      let file = await this.#current();
      if (file.size > 0 && file.size + bytes.length > this.#settings.maxBytes) {
        await this.#rotate();
        file = await this.#current();
      }
      await this.#write(file, bytes);
    } catch (error) {
      // The next attempt opens the file again, because its state is unknown.
      await this.#leave();
      throw error;
    }
  }

  async #write(file: OpenFile, bytes: Buffer): Promise<void> {
    try {
      await file.handle.appendFile(bytes);
      await file.handle.datasync();
      file.size += bytes.length;
    } catch (error) {
      // Remove a partial line, which would corrupt the next one. If this fails, it is removed when the file is next opened.
      await file.handle.truncate(file.size).catch(() => {});
      throw error;
    }
  }

  async #current(): Promise<OpenFile> {
    const known = this.#file;
    if (known) {
      const named = await stat(this.#settings.path).catch(() => undefined);
      // If the size differs, something else has written to the file, and truncating to the known size could delete its lines.
      if (named?.ino === known.ino && named.dev === known.dev && named.size === known.size) return known;
      await this.#leave();
    }
    const { path } = this.#settings;
    await ensureFolder(dirname(path), 0o700);
    // Opened for reading too, to find the end of its last line.
    const handle = await open(path, "a+", 0o600);
    try {
      const { dev, ino } = await handle.stat();
      const size = await withoutBrokenLine(handle);
      syncFolder(dirname(path));
      this.#file = { handle, dev, ino, size };
      return this.#file;
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  async #rotate(): Promise<void> {
    const { path, keep } = this.#settings;
    await this.#leave();
    await rm(`${path}.${keep}`, { force: true });
    for (let number = keep - 1; number >= 1; number--) await moveIfThere(`${path}.${number}`, `${path}.${number + 1}`);
    await rename(path, `${path}.1`);
    syncFolder(dirname(path));
  }

  async #leave(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    await file?.handle.close().catch(() => {});
  }
}

async function moveIfThere(from: string, to: string): Promise<void> {
  await rename(from, to).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error;
  });
}

const LOOK_BYTES = 64 * 1024;
const LINE_END = 0x0a;

/** Removes a partial line at the end, which a killed server leaves; the complete line is sent again. Resolves to the file's size. */
async function withoutBrokenLine(handle: FileHandle): Promise<number> {
  const { size } = await handle.stat();
  for (let end = size; end > 0; ) {
    const start = Math.max(0, end - LOOK_BYTES);
    const { buffer, bytesRead } = await handle.read({ buffer: Buffer.alloc(end - start), position: start });
    const lastEnd = buffer.subarray(0, bytesRead).lastIndexOf(LINE_END);
    if (lastEnd >= 0) return cut(handle, size, start + lastEnd + 1);
    end = start;
  }
  return cut(handle, size, 0);
}

async function cut(handle: FileHandle, size: number, to: number): Promise<number> {
  if (to < size) await handle.truncate(to);
  return to;
}
