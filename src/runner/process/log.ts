import type { Readable } from "node:stream";
import { MAX_LOG_LINE_LENGTH, MAX_LOG_LINES, MAX_SHOWN_LOG_BYTES } from "../../kernel/limits.ts";
import type { LogEntry } from "../runner.ts";

/** The last lines of one replica, however many and however long they are that it writes. */
export class ReplicaLog {
  readonly #replica: number;
  #entries: LogEntry[] = [];
  /** Of the contents of all entries. */
  #bytes = 0;

  constructor(replica: number) {
    this.#replica = replica;
  }

  /** So many of the last lines, or with 0 all that are kept. */
  last(count: number): LogEntry[] {
    return this.#entries.slice(-MAX_LOG_LINES).slice(-count);
  }

  write(content: string): void {
    const bytes = Buffer.from(content);
    // A part of a text would keep the whole of it in memory. This also makes whole characters of what was cut in one.
    this.#entries.push({ replica: this.#replica, content: bytes.toString(), at: Date.now() });
    this.#bytes += bytes.length;
    // Not for each line: those that are kept move every time.
    if (this.#entries.length <= 2 * MAX_LOG_LINES && this.#bytes <= 2 * MAX_SHOWN_LOG_BYTES) return;
    this.#entries = newestOf(this.last(0));
    this.#bytes = this.#entries.reduce((sum, entry) => sum + Buffer.byteLength(entry.content), 0);
  }

  /** Writes the lines of an output down as they come. */
  keep(output: Readable): void {
    let line = "";
    output.setEncoding("utf8");
    output.on("data", (text: string) => {
      const start = startOfLastLines(text);
      if (start > 0) line = "";
      const [first = "", ...rest] = text.slice(start).split("\n");
      line = (line + first).slice(0, MAX_LOG_LINE_LENGTH);
      for (const next of rest) {
        this.write(line);
        line = next.slice(0, MAX_LOG_LINE_LENGTH);
      }
    });
    output.on("end", () => {
      if (line !== "") this.write(line);
    });
    output.on("error", () => {});
  }
}

/** The last entries that are within what may be shown at once; nobody is shown what comes before them. */
export function newestOf(entries: readonly LogEntry[]): LogEntry[] {
  let bytes = 0;
  const tooOld = entries.findLastIndex((entry) => {
    bytes += Buffer.byteLength(JSON.stringify(entry));
    return bytes > MAX_SHOWN_LOG_BYTES;
  });
  return entries.slice(tooOld + 1);
}

/** Where the lines begin that are kept in any case; those before them are not looked at, of which there may be one for each byte. */
function startOfLastLines(text: string): number {
  let start = text.length;
  for (let lines = 0; lines <= MAX_LOG_LINES; lines++) {
    if (start === 0) return 0;
    start = text.lastIndexOf("\n", start - 1);
    if (start < 0) return 0;
  }
  return start + 1;
}
