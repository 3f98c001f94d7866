import { accessSync, constants, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { isLocked, translate } from "./failure.ts";
import { createForOwner } from "./sqlite-files.ts";

/** These may exist in the folder whether it is locked or not. */
export const LOCK_FILES = ["server.lock", "archive.lock"] as const;

/** The process that holds the lock of a folder. */
export interface LockHolder {
  /** The command that it runs: `serve`, `init`. */
  command: string;
  pid: number;
  host: string;
  /** RFC 3339. */
  since: string;
  /** Once it is known. */
  baseUrl?: string;
}

/** Another process has locked the folder. Names the process if it has already written its details. */
export class FolderInUse extends Error {
  readonly holder: LockHolder | undefined;

  constructor(holder: LockHolder | undefined) {
    super("the folder is in use by another process");
    this.holder = holder;
  }
}

/**
 * Allows one server per folder with a SQLite database, and one archive command beside it. The lock is SQLite's own exclusive lock on an
 * empty database in that folder, so the system releases it however the process ends. The holder's details are in a separate file, because
 * nobody else can read a locked database, and this process must not open the locked file a second time.
 */
export class ServerLock {
  readonly #database: DatabaseSync;
  readonly #holderFile: string;
  #holder: LockHolder;

  private constructor(database: DatabaseSync, holderFile: string, holder: LockHolder) {
    this.#database = database;
    this.#holderFile = holderFile;
    this.#holder = holder;
  }

  /** @throws FolderInUse; DatabaseFailure or a system error if the lock cannot be created */
  static take(folder: string, holder: LockHolder, what: "server" | "archive" = "server"): ServerLock {
    const holderFile = join(folder, `${what}.lock.json`);
    try {
      const lock = new ServerLock(lockExclusively(join(folder, `${what}.lock`)), holderFile, holder);
      lock.#writeHolder();
      return lock;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).syscall !== undefined) throw error;
      const failure = translate(error);
      if (isLocked(failure)) throw new FolderInUse(readHolder(holderFile));
      throw failure;
    }
  }

  /** Adds the address of the server. */
  tellBaseUrl(baseUrl: string): void {
    this.#holder = { ...this.#holder, baseUrl };
    this.#writeHolder();
  }

  release(): void {
    if (!this.#database.isOpen) return;
    try {
      rmSync(this.#holderFile, { force: true });
    } catch {
      // The disk accepts no writes. The file means nothing without the lock, and the next holder overwrites it.
    }
    this.#database.close();
  }

  #writeHolder(): void {
    const temporary = `${this.#holderFile}.tmp`;
    writeFileSync(temporary, `${JSON.stringify(this.#holder)}\n`, { mode: 0o600 });
    renameSync(temporary, this.#holderFile);
  }
}

function lockExclusively(file: string): DatabaseSync {
  createForOwner(file);
  // A command that another user ran may have created a file that belongs to that user. The system's error names the file; SQLite's does not.
  accessSync(file, constants.R_OK | constants.W_OK);
  const database = new DatabaseSync(file, { timeout: 0 });
  try {
    database.exec("begin exclusive");
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

function readHolder(file: string): LockHolder | undefined {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as LockHolder;
  } catch {
    // The holder has the lock and has not written the file yet.
    return undefined;
  }
}
