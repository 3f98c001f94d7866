import { type FileHandle, mkdir, open, rm } from "node:fs/promises";
import { join } from "node:path";
import { newId } from "../../kernel/ids.ts";

/** Bytes that are read at a time: far less than a turn's time. */
const PIECE_BYTES = 256 * 1024;

/** Content of up to a hundred megabytes, on disk instead of in memory. The file has no name, so nothing is left if the process ends. */
export class Spool {
  readonly #file: FileHandle;
  #length = 0;

  private constructor(file: FileHandle) {
    this.#file = file;
  }

  static async open(folder: string): Promise<Spool> {
    await mkdir(folder, { recursive: true, mode: 0o711 });
    const path = join(folder, `.${newId()}.tmp`);
    const file = await open(path, "wx+", 0o600);
    await rm(path);
    return new Spool(file);
  }

  async write(bytes: Uint8Array): Promise<void> {
    // In one go it may write less than it is given.
    for (let at = 0; at < bytes.length; ) {
      const { bytesWritten } = await this.#file.write(bytes, at, bytes.length - at, this.#length);
      at += bytesWritten;
      this.#length += bytesWritten;
    }
  }

  /** From the beginning. */
  async *pieces(): AsyncGenerator<Buffer> {
    for (let at = 0; at < this.#length; ) {
      const { bytesRead, buffer } = await this.#file.read(Buffer.allocUnsafe(PIECE_BYTES), 0, PIECE_BYTES, at);
      if (bytesRead === 0) throw new Error("the file is shorter than what was written to it");
      yield buffer.subarray(0, bytesRead);
      at += bytesRead;
    }
  }

  close(): Promise<void> {
    return this.#file.close();
  }
}
