import { type FileHandle, open, rename, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { ensureFolder } from "../../kernel/make-folder.ts";
import { syncFolder } from "../../kernel/sync-folder.ts";
import type { FileSettings } from "./settings.ts";
import { type Sink, SinkFailure, sinkFailure, within } from "./sink.ts";

/** An open file, by what tells whether it still has its name. */
interface OpenFile {
  handle: FileHandle;
  dev: number;
  ino: number;
  /** Bytes of whole lines. */
  size: number;
}

/**
 * Appends to a file, and has it on the disk before it says so. A full file becomes `<path>.1`, the one before `<path>.2`, and so on;
 * the oldest goes. A file that was moved or removed by somebody else is begun anew.
 */
export class FileSink implements Sink {
  readonly #settings: FileSettings;
  #file: OpenFile | undefined;
  /** An attempt that is under way, be it that nobody waits for it any more. */
  #appending: Promise<void> | undefined;

  constructor(settings: FileSettings) {
    this.#settings = settings;
  }

  async deliver(lines: readonly string[], timeoutMs: number): Promise<void> {
    // On a disk that hangs no more than that waits.
    if (this.#appending) throw new SinkFailure("did not take lines in time");
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
      // Opened anew at the next attempt, whatever has become of it.
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
      // A line that is there in part would be in the way of whoever reads the next one; where it stays, the next opening takes it out.
      await file.handle.truncate(file.size).catch(() => {});
      throw error;
    }
  }

  async #current(): Promise<OpenFile> {
    const known = this.#file;
    if (known) {
      const named = await stat(this.#settings.path).catch(() => undefined);
      // Of another size where something else has written to it: a size that is not its own would cut off lines that are there.
      if (named?.ino === known.ino && named.dev === known.dev && named.size === known.size) return known;
      await this.#leave();
    }
    const { path } = this.#settings;
    await ensureFolder(dirname(path), 0o700);
    // Read as well, for the end of its last line.
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

/** Takes the beginning of a line off the end, as a killed server leaves it: the whole line comes again. Resolves to the size. */
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
