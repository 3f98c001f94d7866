import { accessSync, constants, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { isLocked, translate } from "./failure.ts";
import { createForOwner } from "./sqlite-files.ts";

/** In the folder, locked or not. */
export const LOCK_FILES = ["server.lock", "archive.lock"] as const;

/** Who has a folder to itself. */
export interface LockHolder {
  /** What it was started as: `serve`, `init`. */
  command: string;
  pid: number;
  host: string;
  /** RFC 3339. */
  since: string;
  /** Once it is known. */
  baseUrl?: string;
}

/** Another process has the folder; who, if it has told already. */
export class FolderInUse extends Error {
  readonly holder: LockHolder | undefined;

  constructor(holder: LockHolder | undefined) {
    super("the folder is in use by another process");
    this.holder = holder;
  }
}

/**
 * One server for each folder with a SQLite database, and beside it one archive command. The lock is SQLite's own exclusive one
 * on an empty database in that folder, so that the system takes it back from a process that ends in whatever way. Who holds it
 * stands in a file of its own: nobody else can read a database that is locked, and this process must not open the locked file a
 * second time.
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

  /** @throws FolderInUse, or DatabaseFailure or what the system says when there can be no lock at all */
  static take(folder: string, holder: LockHolder, what: "server" | "archive" = "server"): ServerLock {
    const holderFile = join(folder, `${what}.lock.json`);
    try {
      const lock = new ServerLock(lockExclusively(join(folder, `${what}.lock`)), holderFile, holder);
      lock.#tell();
      return lock;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).syscall !== undefined) throw error;
      const failure = translate(error);
      if (isLocked(failure)) throw new FolderInUse(readHolder(holderFile));
      throw failure;
    }
  }

  /** Adds where the server is reached. */
  tellBaseUrl(baseUrl: string): void {
    this.#holder = { ...this.#holder, baseUrl };
    this.#tell();
  }

  release(): void {
    if (!this.#database.isOpen) return;
    try {
      rmSync(this.#holderFile, { force: true });
    } catch {
      // On a disk that takes no writes. The name means nothing without the lock, and who takes that next writes its own.
    }
    this.#database.close();
  }

  #tell(): void {
    const temporary = `${this.#holderFile}.tmp`;
    writeFileSync(temporary, `${JSON.stringify(this.#holder)}\n`, { mode: 0o600 });
    renameSync(temporary, this.#holderFile);
  }
}

function lockExclusively(file: string): DatabaseSync {
  createForOwner(file);
  // A command that another user ran may have left it to that user. The system says which file it is, and SQLite does not.
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
    // It has the lock and has not written the file yet.
    return undefined;
  }
}
