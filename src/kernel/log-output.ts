import { write, writeSync } from "node:fs";
import { LOG_RETRY_MS, MAX_WAITING_LOG_LENGTH } from "./limits.ts";

/**
 * Writes lines to a file descriptor, in order, without blocking the event loop or the caller. While writing fails, for example because the
 * disk is full, a bounded number of lines waits. Further lines are lost; a later line says how many.
 */
export class LogOutput {
  readonly #descriptor: number;
  #lines: string[] = [];
  /** In characters. */
  #waiting = 0;
  #lost = 0;
  /** The bytes that are being written or must be written next. They may start with the rest of a line. */
  #begun: Buffer | undefined;
  #isWriting = false;
  #retry: NodeJS.Timeout | undefined;
  #isOver = false;

  constructor(descriptor: number) {
    this.#descriptor = descriptor;
    process.once("exit", () => this.#writeRest());
  }

  write(line: string): void {
    if (this.#isOver) return;
    if (this.#waiting + line.length > MAX_WAITING_LOG_LENGTH) {
      this.#lost++;
      return;
    }
    this.#lines.push(line);
    this.#waiting += line.length;
    if (!this.#isWriting && !this.#retry) this.#writeNext();
  }

  #writeNext(): void {
    const bytes = this.#take();
    if (!bytes) return;
    this.#isWriting = true;
    write(this.#descriptor, bytes, (error, written) => {
      this.#isWriting = false;
      if (error) {
        this.#failed(error);
        return;
      }
      this.#written(bytes, written);
      this.#writeNext();
    });
  }

  /** The bytes to write next, or undefined if there are none. */
  #take(): Buffer | undefined {
    if (this.#begun) return this.#begun;
    if (this.#lines.length === 0) return undefined;
    if (this.#lost > 0) this.#lines.push(lineOfLost(this.#lost));
    this.#lost = 0;
    this.#begun = Buffer.from(this.#lines.join(""));
    this.#lines = [];
    return this.#begun;
  }

  #written(bytes: Buffer, written: number): void {
    const isAll = written === bytes.length;
    this.#begun = isAll ? undefined : bytes.subarray(written);
    if (isAll) this.#waiting = this.#lines.reduce((sum, line) => sum + line.length, 0);
  }

  #failed({ code }: NodeJS.ErrnoException): void {
    if (code === "EPIPE") {
      // The reader has closed the pipe.
      this.#isOver = true;
      this.#lines = [];
      return;
    }
    this.#retry = setTimeout(() => {
      this.#retry = undefined;
      this.#writeNext();
    }, LOG_RETRY_MS).unref();
  }

  /** On exit. The process does not wait for bytes that cannot be written. */
  #writeRest(): void {
    // The process still waits for the write that is in progress.
    if (this.#isWriting) this.#begun = undefined;
    if (this.#isOver) return;
    try {
      for (let bytes = this.#take(); bytes; bytes = this.#take()) {
        this.#written(bytes, writeSync(this.#descriptor, bytes));
      }
    } catch {
      // There is nowhere to report it.
    }
  }
}

const lineOfLost = (count: number): string =>
  `${JSON.stringify({ level: "warn", time: new Date().toISOString(), count, msg: "lines of the log were lost: they could not be written" })}\n`;
