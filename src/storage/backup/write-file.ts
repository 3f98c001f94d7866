import { createHash, randomBytes } from "node:crypto";
import { createWriteStream, existsSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createZstdCompress } from "node:zlib";
import { giveName } from "../../kernel/give-name.ts";
import { syncFolder } from "../../kernel/sync-folder.ts";
import { type Bytes, encryption } from "./encryption.ts";
import { type End, type Manifest, manifestOf } from "./manifest.ts";
import { BackupProblem } from "./problem.ts";
import { encodeRow, type Piece } from "./rows.ts";
import { asProblem, openSnapshot, type Snapshot } from "./snapshot.ts";

export interface BackupOptions {
  /** URL of the database. */
  url: string;
  /** The file must not exist. */
  file: string;
  version: string;
  /** `age1…`; without it the backup is not encrypted. */
  recipient?: string | undefined;
  onProgress?: Progress | undefined;
  /** Aborts the backup and leaves nothing behind. */
  signal?: AbortSignal | undefined;
}

/** Called now and then with the number of rows done and the total. */
export type Progress = (done: number, all: number) => void;

export interface WrittenBackup {
  manifest: Manifest;
  /** Hex; see `End`. */
  sha256: string;
  bytes: number;
}

/**
 * Writes a consistent state of a database to a file that only its owner can read. The file gets its name when it is complete and on the
 * disk; a process that is killed leaves `<file>.<something>.partial`.
 *
 * @throws BackupProblem
 */
export async function writeBackup({
  url,
  file,
  version,
  recipient,
  onProgress,
  signal,
}: BackupOptions): Promise<WrittenBackup> {
  if (existsSync(file)) throw isThere(file);
  const encrypt = recipient === undefined ? undefined : encryption(recipient);
  const partial = `${file}.${randomBytes(4).toString("hex")}.partial`;
  const remove = () => rmSync(partial, { force: true });
  process.once("exit", remove);
  let snapshot: Snapshot | undefined;
  try {
    // Created before anything slow, so that others see that a backup is running.
    writeFileSync(partial, "", { flag: "wx", mode: 0o600 });
    snapshot = await openSnapshot(url);
    const manifest = manifestOf(snapshot, { version, takenAt: new Date() });
    const told: { sha256: string } = { sha256: "" };
    const text = Readable.from(textOf(snapshot, manifest, told, onProgress), { objectMode: false });
    const compress = createZstdCompress();
    const target = createWriteStream(partial, { flags: "r+", flush: true });
    const ended = signal === undefined ? {} : { signal };
    await (encrypt
      ? pipeline(text, compress, encrypt as (plain: Bytes) => Bytes, target, ended)
      : pipeline(text, compress, target, ended));
    giveName(partial, file);
    syncFolder(dirname(resolve(file)));
    return { manifest, sha256: told.sha256, bytes: statSync(file).size };
  } catch (error) {
    remove();
    if (error instanceof BackupProblem) throw error;
    // Another command created it in the meantime.
    if ((error as NodeJS.ErrnoException).code === "EEXIST") throw isThere(file);
    throw new BackupProblem(`${file} could not be written: ${(error as Error).message}`, { cause: error });
  } finally {
    process.removeListener("exit", remove);
    await snapshot?.close();
  }
}

const isThere = (file: string): BackupProblem =>
  new BackupProblem(`the file ${file} exists already; name another file`);

async function* textOf(
  snapshot: Snapshot,
  manifest: Manifest,
  told: { sha256: string },
  onProgress: Progress = () => {},
): AsyncGenerator<Buffer> {
  const hash = createHash("sha256");
  const hashed = (text: string): Buffer => {
    const bytes = Buffer.from(text);
    hash.update(bytes);
    return bytes;
  };
  yield hashed(lineOf(manifest));
  const all = Object.values(manifest.tables).reduce((sum, count) => sum + count, 0);
  let done = 0;
  for await (const piece of piecesIn(snapshot)) {
    yield hashed(linesOf(piece));
    if ("table" in piece) continue;
    done += piece.rows.length;
    onProgress(done, all);
  }
  told.sha256 = hash.digest("hex");
  const end: End = { end: true, sha256: told.sha256 };
  yield Buffer.from(lineOf(end));
}

/** The database may fail while it is read; that is not reported as a problem of the file. */
async function* piecesIn(snapshot: Snapshot): AsyncGenerator<Piece> {
  try {
    yield* snapshot.pieces();
  } catch (error) {
    throw asProblem(error);
  }
}

const lineOf = (value: unknown): string => `${JSON.stringify(value)}\n`;

function linesOf(piece: Piece): string {
  if ("rows" in piece) return piece.rows.map((row) => `${encodeRow(row)}\n`).join("");
  const { name, columns } = piece.table;
  return lineOf({ table: name, columns: columns.map((column) => column.name) });
}
