import type { Readable } from "node:stream";
import { MAX_LOG_LINE_LENGTH, MAX_LOG_LINES, MAX_SHOWN_LOG_BYTES } from "../../kernel/limits.ts";
import type { LogEntry } from "../runner.ts";

/** The last lines of one replica. Its size is bounded, however many lines the replica writes and however long they are. */
export class ReplicaLog {
  readonly #replica: number;
  #entries: LogEntry[] = [];
  /** The total bytes of all entries' contents. */
  #bytes = 0;

  constructor(replica: number) {
    this.#replica = replica;
  }

  /** The last `count` lines, or all if 0. */
  last(count: number): LogEntry[] {
    return this.#entries.slice(-MAX_LOG_LINES).slice(-count);
  }

  write(content: string): void {
    const bytes = Buffer.from(content);
    // A part of a string would keep the whole string in memory. This also repairs a character that was cut.
    this.#entries.push({ replica: this.#replica, content: bytes.toString(), at: Date.now() });
    this.#bytes += bytes.length;
    // Not for each line, because trimming moves all remaining entries.
    if (this.#entries.length <= 2 * MAX_LOG_LINES && this.#bytes <= 2 * MAX_SHOWN_LOG_BYTES) return;
    this.#entries = newestOf(this.last(0));
    this.#bytes = this.#entries.reduce((sum, entry) => sum + Buffer.byteLength(entry.content), 0);
  }

  /** Records the lines of an output as they arrive. */
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

/** The newest entries that fit into one answer. Earlier ones are omitted. */
export function newestOf(entries: readonly LogEntry[]): LogEntry[] {
  let bytes = 0;
  const tooOld = entries.findLastIndex((entry) => {
    bytes += Buffer.byteLength(JSON.stringify(entry));
    return bytes > MAX_SHOWN_LOG_BYTES;
  });
  return entries.slice(tooOld + 1);
}

/** Where the last `MAX_LOG_LINES` lines begin. Earlier lines, of which there may be one per byte, are not split. */
function startOfLastLines(text: string): number {
  let start = text.length;
  for (let lines = 0; lines <= MAX_LOG_LINES; lines++) {
    if (start === 0) return 0;
    start = text.lastIndexOf("\n", start - 1);
    if (start < 0) return 0;
  }
  return start + 1;
}
