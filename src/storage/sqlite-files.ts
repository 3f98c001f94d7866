import { accessSync, closeSync, constants, existsSync, openSync, realpathSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { freeBytesAt } from "../kernel/free-bytes.ts";
import { FILE_WATCH_MS, SQLITE_LEAST_FREE_BYTES } from "../kernel/limits.ts";
import { makeFolder } from "../kernel/make-folder.ts";
import { DatabaseFailure, SQLITE_FULL, translate } from "./failure.ts";

/*
 * POSIX releases all locks that a process holds on a file as soon as the process closes any descriptor of it. So this module checks a
 * file that SQLite may have open only with stat, and never opens it, except the write-ahead log, which SQLite does not lock. Without the locks,
 * another process would conclude that it is the last user of the database, and remove the write-ahead log.
 */

/** Creates the file if it is missing. SQLite creates the files beside it, -wal and -shm, with the same permissions. */
export function createForOwner(file: string): void {
  if (existsSync(file)) return;
  makeFolder(dirname(file), 0o700);
  closeSync(openSync(file, "a", 0o600));
}

/** Whether the file is on a disk that is read-only. */
export function isOnReadOnlyDisk(file: string): boolean {
  try {
    accessSync(dirname(file), constants.W_OK);
    // If a disk became read-only because of a fault, only opening a file may reveal it. SQLite has no locks on the log, so closing it here
    // releases none.
    closeSync(openSync(`${file}-wal`, "r+"));
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EROFS";
  }
}

interface OpenFile {
  path: string;
  /** Undefined if the file does not exist. */
  identity: string | undefined;
}

/**
 * Detects whether the files that SQLite has open are still those at their paths. A file that was removed or replaced still accepts writes,
 * but nobody will ever read them. From then on all reads and writes are refused; only a restart opens the current file.
 */
export class SqliteFiles {
  readonly #real: string;
  readonly #files: OpenFile[];
  readonly #onLost: (path: string, reason: string) => void;
  #watch: NodeJS.Timeout | undefined;
  #lost: { path: string; reason: string } | undefined;

  /** Call it before SQLite opens the file, which is created if it is missing. */
  constructor(file: string, onLost: (path: string, reason: string) => void) {
    createForOwner(file);
    // SQLite resolves links once, and keeps the log beside the resolved file.
    this.#real = realpathSync(file);
    this.#files = [...new Set([file, this.#real])].map(openFile);
    this.#onLost = onLost;
  }

  /** Call it after SQLite has opened the file and its log. From then on no other file can get the identity of one of them. */
  watch(): void {
    this.#files.push(...["-wal", "-shm"].map((suffix) => openFile(this.#real + suffix)));
    this.check();
    this.#watch = setInterval(() => this.#look(), FILE_WATCH_MS).unref();
  }

  /** @throws DatabaseFailure if a file was found removed or replaced earlier; does not check again. */
  refuseIfLost(): void {
    if (this.#lost === undefined) return;
    const { path, reason } = this.#lost;
    throw new DatabaseFailure("lost", new Error(`${path} is not the file that was opened`), reason);
  }

  /** Checks the files, which takes some microseconds. @throws DatabaseFailure */
  check(): void {
    this.#look();
    this.refuseIfLost();
  }

  /**
   * A small write may fit into space that the log already has, although commits find no room.
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

/** Why the file is lost. If it is in its place but inaccessible, the reason says so, so that the operator does not search for another file. */
function whyLost(path: string): string {
  try {
    statSync(path, { throwIfNoEntry: false });
    return LOST;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return `has a file that this server can no longer access (${code}); check the disk and the permissions of the folders in its path, and restart the server`;
  }
}

const openFile = (path: string): OpenFile => ({ path, identity: identityOf(path) });

function identityOf(path: string): string | undefined {
  try {
    const { dev, ino } = statSync(path, { bigint: true });
    return `${dev}:${ino}`;
  } catch {
    // Whatever the reason, nobody else can open it either.
    return undefined;
  }
}

/** Checks that a commit finds room on the file's disk. @throws DatabaseFailure */
export function refuseIfFull(file: string): void {
  const free = freeBytesAt(dirname(file));
  if (free === undefined || free >= SQLITE_LEAST_FREE_BYTES) return;
  throw translate(Object.assign(new Error(`${free} bytes are free beside ${file}`), { errcode: SQLITE_FULL }));
}
