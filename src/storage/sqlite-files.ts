import { accessSync, closeSync, constants, existsSync, openSync, realpathSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { freeBytesAt } from "../kernel/free-bytes.ts";
import { FILE_WATCH_MS, SQLITE_LEAST_FREE_BYTES } from "../kernel/limits.ts";
import { makeFolder } from "../kernel/make-folder.ts";
import { DatabaseFailure, SQLITE_FULL, translate } from "./failure.ts";

/*
 * POSIX takes all locks of a process on a file away as soon as the process closes any descriptor of it. A file that SQLite may
 * have open is therefore looked at with stat alone, never opened here: without its locks another process would take itself for
 * the last one, and remove the write-ahead log.
 */

/** Makes the file if it is missing. SQLite gives the files beside it, -wal and -shm, the rights of this one. */
export function createForOwner(file: string): void {
  if (existsSync(file)) return;
  makeFolder(dirname(file), 0o700);
  closeSync(openSync(file, "a", 0o600));
}

/** Whether the file is where nothing can be written. */
export function isOnReadOnlyDisk(file: string): boolean {
  try {
    accessSync(dirname(file), constants.W_OK);
    // Of a disk that became read-only because of a fault, opening alone may tell. No locks are taken on the log that closing it could end.
    closeSync(openSync(`${file}-wal`, "r+"));
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EROFS";
  }
}

interface OpenFile {
  path: string;
  /** Undefined where there is none. */
  identity: string | undefined;
}

/**
 * Tells whether the files that SQLite has open are still those at their paths. One that was removed or replaced goes on taking
 * writes which nobody will ever read again, so nothing is to be read or written any more: only a restart opens what is there
 * now.
 */
export class SqliteFiles {
  readonly #real: string;
  readonly #files: OpenFile[];
  readonly #onLost: (path: string, reason: string) => void;
  #watch: NodeJS.Timeout | undefined;
  #lost: { path: string; reason: string } | undefined;

  /** Before SQLite opens the file, which is made if it is missing. */
  constructor(file: string, onLost: (path: string, reason: string) => void) {
    createForOwner(file);
    // SQLite follows links once, and keeps the log beside what they lead to.
    this.#real = realpathSync(file);
    this.#files = [...new Set([file, this.#real])].map(openFile);
    this.#onLost = onLost;
  }

  /** SQLite has opened the file and its log: from now on no other file can get the identity of one of them. */
  watch(): void {
    this.#files.push(...["-wal", "-shm"].map((suffix) => openFile(this.#real + suffix)));
    this.check();
    this.#watch = setInterval(() => this.#look(), FILE_WATCH_MS).unref();
  }

  /** @throws DatabaseFailure once a file was found removed or replaced; it does not look again. */
  refuseIfLost(): void {
    if (this.#lost === undefined) return;
    const { path, reason } = this.#lost;
    throw new DatabaseFailure("lost", new Error(`${path} is not the file that was opened`), reason);
  }

  /** Looks, in some microseconds. @throws DatabaseFailure */
  check(): void {
    this.#look();
    this.refuseIfLost();
  }

  /**
   * A small write may find room in what the log has already, where commits find none.
   *
   * @throws DatabaseFailure
   */
  refuseIfFull(): void {
    refuseIfFull(this.#real);
  }

  close(): void {
    clearInterval(this.#watch);
  }

  #look(): void {
    if (this.#lost !== undefined) return;
    const lost = this.#files.find(({ path, identity }) => identityOf(path) !== identity);
    if (!lost) return;
    this.#lost = { path: lost.path, reason: whyLost(lost.path) };
    this.#onLost(lost.path, this.#lost.reason);
  }
}

const LOST =
  "has a file that was removed or replaced while the server ran; put the right one back and restart the server";

/** It may be in its place all the same, and out of reach: an operator must not go looking for another one then. */
function whyLost(path: string): string {
  try {
    statSync(path, { throwIfNoEntry: false });
    return LOST;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return `has a file that this server cannot look at any more (${code}); see to the disk and to who may enter the folders on its path, and restart the server`;
  }
}

const openFile = (path: string): OpenFile => ({ path, identity: identityOf(path) });

function identityOf(path: string): string | undefined {
  try {
    const { dev, ino } = statSync(path, { bigint: true });
    return `${dev}:${ino}`;
  } catch {
    // Whatever the reason: nobody else finds it there either.
    return undefined;
  }
}

/** Where a commit would find no room beside the file. @throws DatabaseFailure */
export function refuseIfFull(file: string): void {
  const free = freeBytesAt(dirname(file));
  if (free === undefined || free >= SQLITE_LEAST_FREE_BYTES) return;
  throw translate(Object.assign(new Error(`${free} bytes are free beside ${file}`), { errcode: SQLITE_FULL }));
}
