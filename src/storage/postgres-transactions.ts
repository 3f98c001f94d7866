import { Batch } from "./batch.ts";
import { kyselyOn } from "./dialect.ts";
import type { AheadReader, Reader } from "./engine.ts";
import { DatabaseFailure, isOutOfRoom } from "./failure.ts";
import { HalfDone, type OpenTransaction, type Prefetch, ScopeTaken } from "./group-commit.ts";
import { PostgresConnection } from "./postgres.ts";
import { IDLE_TRANSACTION_MS, type PostgresPool } from "./postgres-pool.ts";
import type { PostgresSettings } from "./postgres-settings.ts";
import { transactorOn } from "./transactor.ts";

/** For a transaction alone, where its session is not ours. */
const timeoutsOf = (statementTimeoutMs: number): string =>
  `set local statement_timeout = ${statementTimeoutMs}; set local idle_in_transaction_session_timeout = ${IDLE_TRANSACTION_MS}`;

/**
 * Each statement sees what was committed before it, whatever PostgreSQL is set to: what is read behind a lock must be what whoever had it before
 * left, and not how things were when it was asked for.
 */
const BEGIN = "begin isolation level read committed";

const LOCK_SCOPE = "select pg_advisory_xact_lock(hashtextextended($1, 0))";
/** Those that nobody else holds, without waiting. */
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
  // Savepoints are sent with whatever comes after them, which fails with them; nothing waits for their answers but the end.
  let ahead: Promise<unknown> = Promise.resolve();
  let toRelease = "";
  const takeRelease = () => {
    const release = toRelease;
    toRelease = "";
    return release;
  };
  /** The function that runs has none yet: it has written nothing. */
  let needsSavepoint = false;
  let hasSavepoint = false;
  let isAtOnce = false;
  const makeSavepoint = () => {
    if (!needsSavepoint) return;
    needsSavepoint = false;
    hasSavepoint = true;
    ahead = Promise.all([ahead, exec(`${takeRelease()}savepoint one`)]);
    // Whoever waits for it is told; nobody may yet.
    ahead.catch(() => {});
  };
  // What was lost may have been by a row of others, which is theirs to tell.
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
    // What was lost may have been by one of these.
    const known: Promise<unknown>[] = [];
    if (!isAgain)
      batch.askAhead((all) => {
        const selectFrom = kysely.selectFrom.bind(kysely) as Reader["selectFrom"];
        const reader: AheadReader = { kind: "postgres", selectFrom, all, known: (of) => batch.known(of) };
        known.push(...prefetches.map((prefetch) => prefetch(reader).catch(() => {})));
      });
    for (const { scope } of (await Promise.all([begun, locked, tried]))[2]) held.add(scope);
    // What comes to be known must be so before a function changes it.
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
        // Without a savepoint there is no way back from what PostgreSQL refused.
        if (batch.hasFailed) throw new HalfDone();
        return batch.dropped();
      }
      hasSavepoint = false;
      // Something that an earlier function did not wait for was refused before it: nothing since can be undone by itself.
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
      // The first that failed tells why, the others only that something did.
      await written;
      // Where something was refused that nobody had to wait for, a commit ends the transaction without its writes, and that is no error.
      const refusal = (await refusalOf(ahead)) ?? (await refusalOf(committed));
      if (refusal) throw new HalfDone(refusal);
      await ahead;
      if ((await committed) !== "COMMIT") throw new HalfDone();
      giveBack(false);
    },
    rollback: async (reason) => {
      // A connection that is lost or hangs is not asked; closing it ends the transaction as well. On a full disk reads need it: there may be no
      // other.
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

/** Why the database refused it; nothing where it was done, or failed in another way. */
const refusalOf = (asked: Promise<unknown>): Promise<DatabaseFailure | undefined> =>
  asked.then(
    () => undefined,
    (error) => (error instanceof DatabaseFailure && error.kind === "bug" ? error : undefined),
  );

async function waitForScope(batch: Batch, scope: string): Promise<void> {
  await batch.all(LOCK_SCOPE, [scope]);
  // Whoever had the lock before may have changed anything.
  batch.forgetAll();
}

async function tryScope(batch: Batch, scope: string): Promise<void> {
  const locked = await batch.all(TRY_SCOPES, [[scope]]);
  if (locked.length === 0) throw new ScopeTaken();
  batch.forgetAll();
}
