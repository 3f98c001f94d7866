import { close, fdatasync, openSync, realpathSync } from "node:fs";
import type { CompiledQuery, QueryResult } from "kysely";
import type { Connection } from "./engine.ts";
import { DatabaseFailure } from "./failure.ts";

/** Writes an open file's cached data to the disk, as `fs.fdatasync` does. */
export type SyncFile = (descriptor: number, done: (error: Error | null) => void) => void;

const isReadOnly = ({ code }: NodeJS.ErrnoException): boolean => code === "EROFS";

const THERE = "everything acknowledged before is safe";
const BROKEN = `could not be written to the disk; ${THERE}; repair the disk and restart the server`;
const READ_ONLY = `is on a disk that became read-only; ${THERE}; find out why, mount it for writing and restart the server`;

/**
 * Makes the write-ahead log of an open SQLite file durable. This process does it itself, because SQLite would block the event loop for as
 * long as the disk takes. With `synchronous = normal`, SQLite writes a commit to the log and leaves it in the operating system's cache;
 * both the writer and anybody who has read the data get their answer after the next `sync`. Before a checkpoint, SQLite itself syncs the
 * log, and the database file after it.
 *
 * After a failed sync the state of the disk is unknown, and a second sync would report success (fsync(2)). From then on all reads and
 * writes are refused.
 */
export class DurableLog {
  readonly #descriptor: number;
  readonly #sync: SyncFile;
  #failure: DatabaseFailure | undefined;
  #underWay: Promise<void> | undefined;

  /** Call it after SQLite has opened the file and created its log. SQLite has no locks on the log, so closing it here releases none. */
  constructor(file: string, sync: SyncFile = fdatasync) {
    this.#descriptor = openSync(`${realpathSync(file)}-wal`, "r");
    this.#sync = sync;
  }

  /** Resolves once everything committed before is durable. @throws DatabaseFailure */
  sync(): Promise<void> {
    const synced = new Promise<void>((resolve, reject) => {
      this.#sync(this.#descriptor, (error) => {
        if (this.#underWay === synced) this.#underWay = undefined;
        if (error) this.#failure ??= new DatabaseFailure("lost", error, isReadOnly(error) ? READ_ONLY : BROKEN);
        if (this.#failure) reject(this.#failure);
        else resolve();
      });
    });
    // The caller sees the rejection; this keeps it from counting as unhandled.
    synced.catch(() => {});
    this.#underWay = synced;
    return synced;
  }

  /** Resolves once everything committed so far is durable; undefined if it already is. */
  get underWay(): Promise<void> | undefined {
    return this.#underWay;
  }

  /** @throws DatabaseFailure */
  refuseIfBroken(): void {
    if (this.#failure) throw this.#failure;
  }

  close(): void {
    close(this.#descriptor, () => {});
  }
}

/** Reads of a connection that resolve only once the data is durable, so that a power cut never takes back what somebody has seen. */
export class DurableReads implements Connection {
  readonly #connection: Connection;
  readonly #log: DurableLog | undefined;

  constructor(connection: Connection, log: DurableLog | undefined) {
    this.#connection = connection;
    this.#log = log;
  }

  async all<Row>(sql: string, parameters: readonly unknown[]): Promise<Row[]> {
    const rows = await this.#connection.all<Row>(sql, parameters);
    await this.#log?.underWay;
    return rows;
  }

  async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
    const result = await this.#connection.executeQuery<Row>(query);
    await this.#log?.underWay;
    return result;
  }

  streamQuery<Row>(query: CompiledQuery, chunkSize: number): AsyncIterableIterator<QueryResult<Row>> {
    return this.#connection.streamQuery<Row>(query, chunkSize);
  }
}
