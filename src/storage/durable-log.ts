import { close, fdatasync, openSync, realpathSync } from "node:fs";
import type { CompiledQuery, QueryResult } from "kysely";
import type { Connection } from "./engine.ts";
import { DatabaseFailure } from "./failure.ts";

/** Has the operating system write what it holds of an open file to the disk, as `fs.fdatasync` does. */
export type SyncFile = (descriptor: number, done: (error: Error | null) => void) => void;

const isReadOnly = ({ code }: NodeJS.ErrnoException): boolean => code === "EROFS";

const THERE = "what was acknowledged before is there";
const BROKEN = `could not be written to the disk; ${THERE}; put the disk in order and restart the server`;
const READ_ONLY = `is on a disk that became read-only; ${THERE}; see why it did, mount it for writing and restart the server`;

/**
 * The write-ahead log of an open SQLite file, made durable by this process and not by the connections: SQLite would hold up the event loop for as long
 * as the disk takes. With `synchronous = normal` SQLite writes a commit into the log and leaves it to the operating system; whoever was
 * promised that it is durable, and whoever has read it, is told after the next `sync`. Before a checkpoint SQLite syncs the log itself, and
 * the file after it.
 *
 * Once the disk has refused, nobody knows what it has, and asking again would say that all is well (fsync(2)): nothing is to be read or written any
 * more.
 */
export class DurableLog {
  readonly #descriptor: number;
  readonly #sync: SyncFile;
  #failure: DatabaseFailure | undefined;
  #underWay: Promise<void> | undefined;

  /** After SQLite has opened the file and made its log. SQLite takes no locks on the log that closing it here could end. */
  constructor(file: string, sync: SyncFile = fdatasync) {
    this.#descriptor = openSync(`${realpathSync(file)}-wal`, "r");
    this.#sync = sync;
  }

  /** Resolves once all that was committed before is durable. @throws DatabaseFailure */
  sync(): Promise<void> {
    const synced = new Promise<void>((resolve, reject) => {
      this.#sync(this.#descriptor, (error) => {
        if (this.#underWay === synced) this.#underWay = undefined;
        if (error) this.#failure ??= new DatabaseFailure("lost", error, isReadOnly(error) ? READ_ONLY : BROKEN);
        if (this.#failure) reject(this.#failure);
        else resolve();
      });
    });
    // Whoever waits for it is told.
    synced.catch(() => {});
    this.#underWay = synced;
    return synced;
  }

  /** What was committed so far is durable once this resolves; undefined where it is. */
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

/** Answers of a connection, given once what was read is durable: nobody is told of what a power cut would take back. */
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
