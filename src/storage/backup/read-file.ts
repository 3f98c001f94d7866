import { createHash } from "node:crypto";
import { closeSync, createReadStream, openSync, readSync } from "node:fs";
import { pipeline, Readable } from "node:stream";
import { createZstdDecompress } from "node:zlib";
import { MAX_BACKUP_LINE_BYTES } from "../../kernel/limits.ts";
import { AGE_MAGIC, type Bytes, decryption } from "./encryption.ts";
import { type Manifest, parsed, readEnd, readManifest } from "./manifest.ts";
import { BackupProblem } from "./problem.ts";
import { decodeRow, type Piece, type Row, type Table } from "./rows.ts";
import { tablesAt } from "./tables.ts";

/** A backup that was read to its end and found complete. */
export interface BackupFile {
  manifest: Manifest;
  tables: readonly Table[];
  isEncrypted: boolean;
  /** Hex; see `End`. */
  sha256: string;
  /**
   * Reads and verifies the file once more.
   *
   * @throws BackupProblem, possibly only at the end
   */
  pieces(): AsyncGenerator<Piece>;
}

export interface BackupSource {
  file: string;
  /** The text of an age identity file, for an encrypted backup. */
  identity?: string | undefined;
}

/**
 * Reads and verifies a whole backup before anybody uses it.
 *
 * @throws BackupProblem if it is truncated, altered, not a backup, of a newer version, or encrypted to somebody else
 */
export async function openBackup(source: BackupSource): Promise<BackupFile> {
  const reading = startReading(source);
  let sha256 = "";
  let manifest: Manifest | undefined;
  let tables: readonly Table[] = [];
  for await (const part of reading.parts) {
    if ("manifest" in part) ({ manifest, tables } = part);
    else if ("sha256" in part) ({ sha256 } = part);
  }
  const { isEncrypted } = reading;
  return { manifest: manifest as Manifest, tables, isEncrypted, sha256, pieces: () => piecesAgain(source, sha256) };
}

async function* piecesAgain(source: BackupSource, expected: string): AsyncGenerator<Piece> {
  for await (const part of startReading(source).parts) {
    if ("table" in part || "rows" in part) yield part;
    else if ("sha256" in part && part.sha256 !== expected) {
      throw problemOf(source, new BackupProblem("it was replaced while it was read"));
    }
  }
}

type Part = { manifest: Manifest; tables: readonly Table[] } | Piece | { sha256: string };

function startReading(source: BackupSource): { isEncrypted: boolean; parts: AsyncGenerator<Part> } {
  try {
    const kind = kindOf(source.file);
    return { isEncrypted: kind === "age", parts: partsOf(source, kind) };
  } catch (error) {
    throw problemOf(source, error);
  }
}

async function* partsOf(source: BackupSource, kind: "age" | "zstd"): AsyncGenerator<Part> {
  try {
    yield* partsOfLines(linesOf(bytesOf(source, kind)));
  } catch (error) {
    throw problemOf(source, error);
  }
}

const ZSTD_MAGIC = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);

function kindOf(file: string): "age" | "zstd" {
  const head = Buffer.alloc(AGE_MAGIC.length);
  const descriptor = openSync(file, "r");
  try {
    const length = readSync(descriptor, head);
    if (head.subarray(0, length).equals(AGE_MAGIC)) return "age";
    if (head.subarray(0, ZSTD_MAGIC.length).equals(ZSTD_MAGIC)) return "zstd";
  } finally {
    closeSync(descriptor);
  }
  throw new BackupProblem("it is not a Keystead backup");
}

function bytesOf({ file, identity }: BackupSource, kind: "age" | "zstd"): Bytes {
  const stored = createReadStream(file);
  if (kind === "zstd") return throughZstd(stored);
  if (identity === undefined) {
    stored.destroy();
    throw new BackupProblem("it is encrypted; use --identity to name the file with its recipient's identity");
  }
  return throughZstd(decryption(identity)(stored));
}

/** An empty frame (RFC 8878, section 3.1.1), which Node's compressor sometimes appends. */
const EMPTY_FRAME = Buffer.from("28b52ffd2000010000", "hex");

/** Decompresses. The reader gets errors of the input, and an error if bytes follow the end of the compressed data. */
export async function* throughZstd(compressed: Bytes): Bytes {
  const decompress = createZstdDecompress();
  let given = 0;
  let last: Uint8Array = Buffer.alloc(0);
  async function* counted(): Bytes {
    for await (const chunk of compressed) {
      given += chunk.length;
      last = Buffer.concat([last, chunk.subarray(-EMPTY_FRAME.length)]).subarray(-EMPTY_FRAME.length);
      yield chunk;
    }
  }
  yield* pipeline(Readable.from(counted()), decompress, () => {});
  const left = given - decompress.bytesWritten;
  if (left === 0) return;
  const isOfEmptyFrame = EMPTY_FRAME.subarray(0, left).equals(last.subarray(-left));
  if (left > EMPTY_FRAME.length || !isOfEmptyFrame) throw new BackupProblem(GOES_ON);
  if (left < EMPTY_FRAME.length) throw new BackupProblem(CUT_OFF);
}

const GOES_ON = "it continues after its end";
const CUT_OFF = "it is cut off: its last bytes are missing";

const NEWLINE = "\n".charCodeAt(0);

/** Lines without their ends, in the groups in which they arrive. */
export async function* linesOf(bytes: Bytes): AsyncGenerator<Buffer[]> {
  let begun: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of bytes) {
    const lines: Buffer[] = [];
    let from = 0;
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
      lines.push(Buffer.concat([...begun, chunk.subarray(from, at)]));
      [begun, length, from] = [[], 0, at + 1];
    }
    if (from < chunk.length) begun.push(chunk.subarray(from));
    length += chunk.length - from;
    if (length > MAX_BACKUP_LINE_BYTES) throw new BackupProblem("it contains a line that is longer than any row");
    if (lines.length > 0) yield lines;
  }
  if (length > 0) throw new BackupProblem("it is cut off in the middle of a line");
}

async function* partsOfLines(batches: AsyncGenerator<Buffer[]>): AsyncGenerator<Part> {
  const hash = createHash("sha256");
  let book: Book | undefined;
  let isOver = false;
  for await (const lines of batches) {
    let rows: Row[] = [];
    for (const line of lines) {
      if (isOver) throw new BackupProblem(GOES_ON);
      const end = readEnd(line);
      if (end && book) {
        if (rows.length > 0) yield { rows };
        rows = [];
        book.close();
        const sha256 = hash.digest("hex");
        if (end.sha256 !== sha256)
          throw new BackupProblem("it was altered: its digest is not the one that it was written with");
        isOver = true;
        yield { sha256 };
        continue;
      }
      hash.update(line).update("\n");
      if (!book) {
        const manifest = readManifest(line);
        const tables = await tablesAt(manifest.schema);
        book = new Book(manifest, tables);
        yield { manifest, tables };
        continue;
      }
      const read = book.read(line);
      if (!("table" in read)) {
        rows.push(read.row);
        continue;
      }
      if (rows.length > 0) yield { rows };
      rows = [];
      yield read;
    }
    if (rows.length > 0) yield { rows };
  }
  if (!isOver) throw new BackupProblem("it is cut off: its end is missing");
}

/** Checks the rows against the counts in the manifest and the columns in the schema. */
class Book {
  readonly #manifest: Manifest;
  readonly #tables: readonly Table[];
  #position = -1;
  #rows = 0;

  constructor(manifest: Manifest, tables: readonly Table[]) {
    this.#manifest = manifest;
    this.#tables = tables;
  }

  read(line: Buffer): { table: Table } | { row: Row } {
    const value = parsed(line);
    const table = this.#tables[this.#position];
    const row = table && decodeRow(table, value);
    if (row) {
      this.#rows++;
      return { row };
    }
    if (Array.isArray(value) || value === undefined) throw new BackupProblem("it contains a row that fits no table");
    return { table: this.#begin(value as { table?: unknown; columns?: unknown }) };
  }

  close(): void {
    this.#endTable();
    if (this.#position < this.#tables.length - 1) throw new BackupProblem("tables are missing from it");
  }

  #begin({ table: name, columns }: { table?: unknown; columns?: unknown }): Table {
    this.#endTable();
    this.#position++;
    this.#rows = 0;
    const table = this.#tables[this.#position];
    const names = table?.columns.map((column) => column.name);
    if (!table || table.name !== name || JSON.stringify(columns) !== JSON.stringify(names)) {
      throw new BackupProblem(`it does not contain the tables of schema ${this.#manifest.schema}`);
    }
    return table;
  }

  #endTable(): void {
    const table = this.#tables[this.#position];
    if (!table) return;
    const announced = this.#manifest.tables[table.name];
    if (announced === this.#rows) return;
    throw new BackupProblem(`it contains ${this.#rows} rows of ${table.name} but announces ${announced}`);
  }
}

/** Adds the file's name to the error. */
function problemOf({ file }: BackupSource, error: unknown): BackupProblem {
  if (error instanceof BackupProblem && error.message.startsWith(NOT_READ)) return error;
  return new BackupProblem(`${NOT_READ} ${file} cannot be used: ${reasonOf(error)}`);
}

const NOT_READ = "the backup";

function reasonOf(error: unknown): string {
  if (error instanceof BackupProblem) return error.message;
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === "ENOENT") return "the file does not exist";
  if (code === "EACCES" || code === "EISDIR") return `it cannot be read (${code})`;
  if (/no identity matched/i.test(message)) return "it is encrypted to a recipient other than the given identity";
  // Errors of zstd and age: an incomplete frame, or a wrong checksum or tag.
  return `it is damaged or cut off (${message})`;
}
