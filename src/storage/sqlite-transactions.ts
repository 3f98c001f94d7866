import { setTimeout } from "node:timers/promises";
import type { Kysely } from "kysely";
import { SQLITE_LOCK_DEADLINE_MS } from "../kernel/limits.ts";
import type { Batch } from "./batch.ts";
import type { DurableLog } from "./durable-log.ts";
import type { Reader } from "./engine.ts";
import { isLocked } from "./failure.ts";
import type { OpenTransaction } from "./group-commit.ts";
import type { KeptReads } from "./kept-reads.ts";
import type { Schema } from "./schema.ts";
import type { SqliteConnection } from "./sqlite.ts";
import { transactorOn } from "./transactor.ts";

/** The connection that writes, and hooks around its use. */
export interface SqliteWriter {
  writer: SqliteConnection;
  /** Makes commits durable; undefined for an in-memory database. */
  log: DurableLog | undefined;
  /** Called before a read or a transaction; may throw, or return a promise to wait for. */
  beforeUse: () => Promise<void> | void;
  /** Called before the commit is reported to anybody; may throw. */
  afterCommit: () => void;
  afterUse: () => void;
}

export async function beginSqlite(
  { writer: connection, log, beforeUse, afterCommit, afterUse }: SqliteWriter,
  batch: Batch,
  kept: KeptReads,
  kysely: Kysely<Schema>,
  committed: Reader,
): Promise<OpenTransaction> {
  await beforeUse();
  try {
    await beginWhenFree(connection);
    kept.refresh();
  } catch (error) {
    if (connection.inTransaction) connection.exec("rollback");
    afterUse();
    throw error;
  }
  let inUse = true;
  const giveBack = () => {
    batch.forgetAll();
    if (inUse) afterUse();
    inUse = false;
  };
  return {
    // SQLite ends the transaction itself after some failures, and what is written after that is not rolled back. NaN never equals an earlier count,
    // so the whole transaction is run again.
    written: () => (connection.inTransaction ? connection.written : Number.NaN),
    savepoint: async (next) => {
      batch.begun(next);
      connection.exec("savepoint one");
    },
    release: async () => connection.exec("release one"),
    rollbackToSavepoint: async () => {
      connection.exec("rollback to one");
      connection.exec("release one");
      batch.undone();
    },
    commit: async () => {
      try {
        connection.exec("commit");
      } finally {
        kept.noteWritten(batch.written);
      }
      giveBack();
      if (batch.hasWritten) await log?.sync();
      afterCommit();
      batch.askLast(committed.all);
    },
    rollback: async () => {
      try {
        // SQLite ends the transaction itself after some failures, such as a full disk.
        if (connection.inTransaction) connection.exec("rollback");
      } finally {
        giveBack();
      }
    },
    transactor: () => transactorOn("sqlite", batch, kysely, committed, noScope),
  };
}

/** SQLite has a single writer anyway. */
const noScope = async () => {};

const LOCK_POLL_MS = 10;

/** Waits for another process that is writing, without blocking this process. */
async function beginWhenFree(connection: SqliteConnection): Promise<void> {
  const deadline = performance.now() + SQLITE_LOCK_DEADLINE_MS;
  for (;;) {
    try {
      return connection.exec("begin immediate");
    } catch (error) {
      if (!isLocked(error) || performance.now() > deadline) throw error;
    }
    await setTimeout(LOCK_POLL_MS);
  }
}
