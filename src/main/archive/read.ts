import { createHash } from "node:crypto";
import { type FileHandle, open } from "node:fs/promises";
import type { ActivityRow } from "../../engine/activities/rows.ts";
import { BackupProblem } from "../../storage/backup/problem.ts";
import { linesOf, throughZstd } from "../../storage/backup/read-file.ts";
import {
  type ArchivedActivity,
  ArchiveProblem,
  FORMAT,
  type Manifest,
  type Seal,
  type SharedName,
  shared,
  type UnderName,
  under,
} from "./format.ts";

export type Part =
  | { manifest: Manifest }
  | { shared: SharedName; row: Record<string, unknown> }
  | { archived: ArchivedActivity }
  | { seal: Seal };

/**
 * Reads an archive from its first line to its last, and checks its digest and counts. The caller must check the signature.
 *
 * @throws ArchiveProblem if it is truncated, altered, not an archive or of a newer version; possibly only at the end
 */
export async function* readArchive(file: string): AsyncGenerator<Part> {
  const handle = await openArchive(file);
  try {
    yield* readOpenArchive(file, handle);
  } finally {
    await handle.close();
  }
}

/** @throws ArchiveProblem */
export async function openArchive(file: string): Promise<FileHandle> {
  try {
    return await open(file, "r");
  } catch (error) {
    throw problemOf(file, error);
  }
}

/** As `readArchive`, for an open file. Each call starts at the first line and reads the same file, even if another has its name by then. */
export async function* readOpenArchive(file: string, handle: FileHandle): AsyncGenerator<Part> {
  try {
    yield* partsOf(handle);
  } catch (error) {
    throw problemOf(file, error);
  }
}

const problemOf = (file: string, error: unknown): ArchiveProblem =>
  new ArchiveProblem(`the archive ${file} cannot be used: ${reasonOf(error)}`);

const BYTES_AT_ONCE = 64 * 1024;

async function* bytesOf(handle: FileHandle): AsyncGenerator<Uint8Array> {
  for (let position = 0; ; ) {
    const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(BYTES_AT_ONCE), 0, BYTES_AT_ONCE, position);
    if (bytesRead === 0) return;
    position += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

async function* partsOf(handle: FileHandle): AsyncGenerator<Part> {
  const book = new Book();
  let manifest: Manifest | undefined;
  for await (const lines of linesOf(throughZstd(bytesOf(handle)))) {
    for (const line of lines) {
      const value = parsed(line);
      if (!manifest) {
        manifest = manifestOf(value);
        book.hash(line);
        yield { manifest };
        continue;
      }
      yield* book.take(line, value);
    }
  }
  if (!book.isSealed) throw new ArchiveProblem("it is cut off: its end is missing");
}

/** The counts and the digest so far, to be compared with the seal. */
class Book {
  readonly #hash = createHash("sha256");
  readonly #counts = new Map<string, number>();
  #open: ArchivedActivity | undefined;
  isSealed = false;

  hash(line: Buffer): void {
    this.#hash.update(line).update("\n");
  }

  *take(line: Buffer, value: Record<string, unknown>): Generator<Part> {
    if (this.isSealed) throw new ArchiveProblem("it continues after its end");
    if (value.end === true) {
      yield* this.#flush();
      yield { seal: this.#sealed(value as unknown as Seal) };
      return;
    }
    this.hash(line);
    const [name = "", row] = Object.entries(value)[0] ?? [];
    if (typeof row !== "object" || row === null) throw new ArchiveProblem("it contains a line of an unknown kind");
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + 1);
    if (name === "activity") {
      yield* this.#flush();
      const activity = row as ActivityRow;
      this.#open = { activity, vote: [], authentication: [], policyEvaluation: [], appProof: [] };
    } else if (Object.hasOwn(under, name)) {
      this.#add(name as UnderName, row as never);
    } else if (Object.hasOwn(shared, name)) {
      yield* this.#flush();
      yield { shared: name as SharedName, row: row as Record<string, unknown> };
    } else {
      throw new ArchiveProblem("it contains a line of an unknown kind");
    }
  }

  #add(name: UnderName, row: never): void {
    const open = this.#open;
    const { organization_id, activity_id } = row as { organization_id: string; activity_id: string };
    if (open?.activity.id !== activity_id || open?.activity.organization_id !== organization_id) {
      throw new ArchiveProblem("it contains a row that belongs to none of the activities before it");
    }
    open[name].push(row);
  }

  *#flush(): Generator<Part> {
    if (this.#open) yield { archived: this.#open };
    this.#open = undefined;
  }

  #sealed(seal: Seal): Seal {
    this.isSealed = true;
    if (seal.sha256 !== this.#hash.digest("hex")) {
      throw new ArchiveProblem("it was altered: its digest is not the one that it was written with");
    }
    const told = { ...seal.rows, activity: seal.activities };
    for (const name of new Set([...Object.keys(told), ...this.#counts.keys()])) {
      const [has, announced] = [this.#counts.get(name) ?? 0, (told as Record<string, number>)[name]];
      if (has !== announced) throw new ArchiveProblem(`it contains ${has} rows ${name} but announces ${announced}`);
    }
    return seal;
  }
}

function manifestOf(value: Record<string, unknown>): Manifest {
  const manifest = value as Partial<Manifest>;
  if (manifest.keystead !== "archive") throw new ArchiveProblem("it is not a Keystead archive");
  if (manifest.format !== FORMAT) {
    throw new ArchiveProblem(
      `it has format ${JSON.stringify(manifest.format)}, and this version reads format ${FORMAT}; use the version of Keystead that wrote it, or a newer one`,
    );
  }
  const times = [manifest.before, manifest.writtenAt].map((text) => Date.parse(String(text)));
  if (times.some(Number.isNaN) || !Array.isArray(manifest.verificationKeys)) {
    throw new ArchiveProblem("its first line is damaged");
  }
  return manifest as Manifest;
}

function parsed(line: Buffer): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(line.toString());
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {}
  throw new ArchiveProblem("it contains a line that is not a JSON object");
}

function reasonOf(error: unknown): string {
  if (error instanceof ArchiveProblem || error instanceof BackupProblem) return error.message;
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === "ENOENT") return "the file does not exist";
  if (code === "EACCES" || code === "EISDIR") return `it cannot be read (${code})`;
  if (code === "ZSTD_error_prefix_unknown") return "it is not a Keystead archive";
  return `it is damaged or cut off (${message})`;
}
