import { Batch } from "./batch.ts";
import { kyselyOn } from "./dialect.ts";
import type { AheadReader, Reader } from "./engine.ts";
import { DatabaseFailure, isOutOfRoom } from "./failure.ts";
import { HalfDone, type OpenTransaction, type Prefetch, ScopeTaken } from "./group-commit.ts";
import { PostgresConnection } from "./postgres.ts";
import { IDLE_TRANSACTION_MS, type PostgresPool } from "./postgres-pool.ts";
import type { PostgresSettings } from "./postgres-settings.ts";
import { transactorOn } from "./transactor.ts";

/** Set per transaction, if the session is shared through a pooler. */
const timeoutsOf = (statementTimeoutMs: number): string =>
  `set local statement_timeout = ${statementTimeoutMs}; set local idle_in_transaction_session_timeout = ${IDLE_TRANSACTION_MS}`;

/**
 * Each statement sees everything committed before it, regardless of PostgreSQL's configured default: what is read after waiting for a lock
 * must be the state that the previous holder left, not the state when the lock was requested.
 */
const BEGIN = "begin isolation level read committed";

const LOCK_SCOPE = "select pg_advisory_xact_lock(hashtextextended($1, 0))";
/** Locks those scopes that nobody else holds, without waiting. */
const TRY_SCOPES =
  "select scope from unnest($1::text[]) as scope where pg_try_advisory_xact_lock(hashtextextended(scope, 0))";

export async function beginPostgres(
  pool: PostgresPool,
  { prepared, statementTimeoutMs }: PostgresSettings,
  { scopes, isAgain, ahead: prefetches }: { scopes: readonly string[]; isAgain: boolean; ahead: readonly Prefetch[] },
  committed: Reader,
): Promise<OpenTransaction> {
  const client = await pool.take("transaction");
  let released = false;
  const giveBack = (broken: boolean) => {
    if (!released) pool.giveBack(client, "transaction", broken);
    released = true;
  };
  const connection = new PostgresConnection(client, prepared);
  const exec = (sql: string) => connection.exec(sql);
  // A savepoint is sent with the statement that follows it, which fails if the savepoint does; its own answer is awaited only at the end.
  let ahead: Promise<unknown> = Promise.resolve();
  let toRelease = "";
  const takeRelease = () => {
    const release = toRelease;
    toRelease = "";
    return release;
  };
  /** The current function has no savepoint yet, because it has written nothing. */
  let needsSavepoint = false;
  let hasSavepoint = false;
  let isAtOnce = false;
  const makeSavepoint = () => {
    if (!needsSavepoint) return;
    needsSavepoint = false;
    hasSavepoint = true;
    ahead = Promise.all([ahead, exec(`${takeRelease()}savepoint one`)]);
    // The commit reports the failure; until then it must not count as unhandled.
    ahead.catch(() => {});
  };
  // The previous attempt may have failed because of a later row of another function. On a retry rows are written at once, so that the failure belongs
  // to the function that stored the row.
  const batch = new Batch(connection, "postgres", !isAgain, { beforeWrite: makeSavepoint });
  const kysely = kyselyOn("postgres", async () => batch);
  const begin = prepared ? BEGIN : `${BEGIN}; ${timeoutsOf(statementTimeoutMs)}`;
  const [scope, ...others] = scopes;
  const held = new Set(scopes.slice(0, 1));
  try {
    const begun = exec(begin);
    // Other processes wait here for the organization, as functions of this one wait in GroupCommit.
    const locked = scope === undefined ? [] : connection.all(LOCK_SCOPE, [scope]);
    const tried = others.length === 0 ? [] : connection.all<{ scope: string }>(TRY_SCOPES, [others]);
    // No prefetch on a retry: the previous attempt may have failed because of one.
    const known: Promise<unknown>[] = [];
    if (!isAgain)
      batch.askAhead((all) => {
        const selectFrom = kysely.selectFrom.bind(kysely) as Reader["selectFrom"];
        const reader: AheadReader = { kind: "postgres", selectFrom, all, known: (of) => batch.known(of) };
        known.push(...prefetches.map((prefetch) => prefetch(reader).catch(() => {})));
      });
    for (const { scope } of (await Promise.all([begun, locked, tried]))[2]) held.add(scope);
    // Everything must be known before a function changes it.
    await Promise.all(known);
  } catch (error) {
    giveBack(true);
    throw error;
  }
  return {
    isHeld: (name) => held.has(name),
    savepoint: async (next) => {
      batch.begun(next);
      needsSavepoint = true;
      isAtOnce = next.isAtOnce;
      if (isAtOnce) makeSavepoint();
    },
    release: async () => {
      if (hasSavepoint) toRelease = "release one; ";
      needsSavepoint = hasSavepoint = false;
    },
    rollbackToSavepoint: async () => {
      needsSavepoint = false;
      if (!hasSavepoint) {
        // Without a savepoint PostgreSQL cannot recover from a failed statement.
        if (batch.hasFailed) throw new HalfDone();
        return batch.dropped();
      }
      hasSavepoint = false;
      // A statement of an earlier function, which it did not wait for, failed before this savepoint. Nothing after that can be undone separately.
      const refusal = isAtOnce ? undefined : await refusalOf(ahead);
      if (refusal) throw new HalfDone(refusal);
      const undone = exec("rollback to one; release one");
      batch.undone();
      await Promise.all([ahead, undone]);
    },
    commit: async () => {
      const written = batch.writeRows();
      batch.askLast((query) => batch.ask(query));
      const committed = exec(`${takeRelease()}commit`);
      await Promise.allSettled([written, ahead, committed]);
      // The first failure has the reason; the others only follow from it.
      await written;
      // If a statement failed that nobody waited for, the commit becomes a rollback without reporting an error.
      const refusal = (await refusalOf(ahead)) ?? (await refusalOf(committed));
      if (refusal) throw new HalfDone(refusal);
      await ahead;
      if ((await committed) !== "COMMIT") throw new HalfDone();
      giveBack(false);
    },
    rollback: async (reason) => {
      // If the connection is lost or hangs, it is closed, which ends the transaction as well. If the disk is full, the connection is kept,
      // because there may be no other one for reads.
      const isUseless =
        reason instanceof DatabaseFailure && ["outage", "unavailable"].includes(reason.kind) && !isOutOfRoom(reason);
      if (isUseless) return giveBack(true);
      const clean = await exec("rollback").then(
        () => true,
        () => false,
      );
      giveBack(!clean);
    },
    transactor: () => transactorOn("postgres", batch, kysely, committed, others.length === 0 ? waitForScope : tryScope),
  };
}

/** Why the database rejected it; undefined if it succeeded or failed in another way. */
const refusalOf = (asked: Promise<unknown>): Promise<DatabaseFailure | undefined> =>
  asked.then(
    () => undefined,
    (error) => (error instanceof DatabaseFailure && error.kind === "bug" ? error : undefined),
  );

async function waitForScope(batch: Batch, scope: string): Promise<void> {
  await batch.all(LOCK_SCOPE, [scope]);
  // The previous holder of the lock may have changed anything.
  batch.forgetAll();
}

async function tryScope(batch: Batch, scope: string): Promise<void> {
  const locked = await batch.all(TRY_SCOPES, [[scope]]);
  if (locked.length === 0) throw new ScopeTaken();
  batch.forgetAll();
}
