import { KeysteadError } from "../kernel/errors.ts";

/**
 * What a failed statement means for the caller. `retry`: another transaction was in the way, retry the whole transaction. `outage`: the
 * connection failed, another one may work. `unavailable`: the database is running, but cannot do this (full, read-only, too slow). `lost`:
 * its file is gone permanently. `bug`: an error of Keystead.
 */
export const failureKinds = ["retry", "outage", "unavailable", "lost", "bug"] as const;
export type FailureKind = (typeof failureKinds)[number];

/** A classified error of a database driver. The driver's text stays inside: it is logged and never sent to clients. */
export class DatabaseFailure extends Error {
  readonly kind: FailureKind;
  /** What is wrong, to follow "the database": plain words for the operator, without any settings. */
  readonly reason: string;
  /** The driver's message, which may contain hosts and users. */
  readonly driverMessage: string;

  constructor(kind: FailureKind, cause: unknown, reason: string = reasonOf(cause)) {
    const driverMessage = textOf(cause);
    super(`database: ${driverMessage}`, { cause });
    this.driverMessage = driverMessage;
    this.name = "DatabaseFailure";
    this.kind = kind;
    this.reason = reason;
  }
}

/** Converts an error of a driver to the one that callers of storage see. */
export function translate(error: unknown): unknown {
  if (error instanceof KeysteadError || error instanceof DatabaseFailure) return error;
  return new DatabaseFailure(kindOf(error), error);
}

/** Whether another process holds the lock of a SQLite database. */
export const isLocked = (error: unknown): boolean =>
  error instanceof DatabaseFailure && SQLITE_LOCKED.includes(sqliteCode(error.cause as DriverError) ?? 0);

/** Whether SQLite could not read or write a file. Its error does not say why. */
export const isOfFile = (error: unknown): boolean =>
  [SQLITE_READONLY, SQLITE_IO].includes(sqliteCode((error ?? {}) as DriverError) ?? 0);

/** Whether SQLite has read something from the file that no undamaged database contains. */
export const isDamaged = (error: unknown): boolean =>
  error instanceof DatabaseFailure && SQLITE_DAMAGED.includes(sqliteCode(error.cause as DriverError) ?? 0);

/** Whether a write failed because there is no room left, reported by the database or by the system. */
export function isOutOfRoom(error: unknown): boolean {
  const cause = (error instanceof DatabaseFailure ? error.cause : error) as DriverError;
  return sqliteCode(cause) === SQLITE_FULL || coded(NO_ROOM)(cause);
}

/** Whether PostgreSQL no longer has or accepts a prepared statement: its tables changed, or a pooler mixed up connections. */
export const isStaleStatement = ({ code, file }: DriverError): boolean =>
  code === "26000" || (code === "0A000" && file === "plancache.c");

/** Whether the server, or a pooler in front of it, has no free connection. */
export const isOutOfConnections = ({ code, message = "" }: DriverError): boolean =>
  code === "53300" || (code === "08P01" && message.includes("no more connections allowed"));

/** Whether PostgreSQL rejected a statement only because an earlier one in the same transaction failed. */
export const isOfAbortedTransaction = (error: unknown): boolean =>
  error instanceof DatabaseFailure && (error.cause as DriverError).code === "25P02";

/** Whether the row exists already. SQLite's codes are the extended ones for a primary key and for another unique constraint. */
export function isTaken(error: unknown): boolean {
  if (!(error instanceof DatabaseFailure)) return false;
  const { code, errcode } = error.cause as DriverError;
  return code === "23505" || errcode === 1555 || errcode === 2067;
}

interface DriverError {
  code?: string;
  /** Extended result code of SQLite. */
  errcode?: number;
  message?: string;
  /** Which file of PostgreSQL's sources reports it. Unlike the message, it is the same whatever `lc_messages` says. */
  file?: string;
}

interface Rule {
  kind: FailureKind;
  reason: string;
  holds: (error: DriverError) => boolean;
}

/** Matches the SQLSTATE, whole or its class (PostgreSQL, appendix A), or Node's error code. */
const coded = (codes: RegExp) => (error: DriverError) => error.code !== undefined && codes.test(error.code);
/** Matches the message, because node-postgres and poolers have no codes for errors that they detect themselves. They speak English alone. */
const worded = (words: RegExp) => (error: DriverError) => words.test(error.message ?? "");
/** The low byte of an extended result code (sqlite.org/rescode.html). */
const sqliteCode = ({ errcode }: DriverError): number | undefined =>
  errcode === undefined ? undefined : errcode & 0xff;
const sqlite = (codes: readonly number[]) => (error: DriverError) => codes.includes(sqliteCode(error) ?? 0);

export const SQLITE_FULL = 13;
const SQLITE_LOCKED: readonly number[] = [5, 6];
const SQLITE_READONLY = 8;
const SQLITE_IO = 10;
export const SQLITE_CORRUPT = 11;
const SQLITE_NOTADB = 26;
const SQLITE_DAMAGED: readonly number[] = [SQLITE_CORRUPT, SQLITE_NOTADB];
const DAMAGED = "is in a file that is damaged: stop the server, keep a copy of the file, and restore the newest backup";
const READ_ONLY = "is on a read-only disk: find out why, and mount it for writing";
const NO_ROOM = /^(53100|ENOSPC|EDQUOT)$/;
/** Where PostgreSQL opens, extends and writes the files of its tables, its log and its transactions. */
const OF_FILES = /^(md|fd|smgr|slru|xlog|bufmgr|buffile|copydir|relmapper|storage)\.c$/;
const UNSIGNED = /^(SELF_SIGNED_|DEPTH_ZERO_SELF_SIGNED|UNABLE_TO_)/;
const CERTIFICATE =
  /^(CERT_|ERR_TLS_|ERR_SSL_|SELF_SIGNED_|DEPTH_ZERO_SELF_SIGNED|UNABLE_TO_|HOSTNAME_MISMATCH$|EPROTO$)/;

/** The first matching rule applies. */
const rules: readonly Rule[] = [
  {
    kind: "retry",
    reason: "is busy with conflicting transactions",
    holds: coded(/^(40001|40P01)$/),
  },
  { kind: "retry", reason: "changed its tables in the meantime", holds: isStaleStatement },

  { kind: "outage", reason: "rejects the user or the password in DATABASE_URL", holds: coded(/^28/) },
  {
    kind: "outage",
    reason: "rejects the user or the password in DATABASE_URL",
    holds: worded(/^SASL|client password/),
  },
  { kind: "outage", reason: "that DATABASE_URL names does not exist", holds: coded(/^3D000$/) },
  { kind: "outage", reason: "accepts no connections at the moment", holds: coded(/^5500[06]$/) },
  { kind: "outage", reason: "has no connection left for this server", holds: isOutOfConnections },
  {
    kind: "unavailable",
    reason: "is behind a pooler that does not keep the state of a session: set KEYSTEAD_POSTGRES_PREPARED=off",
    holds: (error) => error.code === "42P05" || worded(/unsupported startup parameter/)(error),
  },
  {
    kind: "unavailable",
    reason: "is behind a pooler that does not allow transactions: its pool_mode must be transaction or session",
    holds: worded(/statement pooling mode/),
  },
  { kind: "outage", reason: "is starting, stopping, or was told to end connections", holds: coded(/^57P/) },
  { kind: "outage", reason: "accepts no writes: it is a standby, or set to read-only", holds: coded(/^25006$/) },
  {
    kind: "outage",
    reason:
      "is on a server that was replaced by the promotion of another one: stop the replaced server, and make it a standby",
    holds: coded(/^KEYSTEAD_REPLACED$/),
  },
  { kind: "outage", reason: "ended a transaction that took too long", holds: coded(/^25P0[34]$/) },
  {
    kind: "outage",
    reason: "refuses connections: nothing listens at its address",
    holds: coded(/^ECONNREFUSED$/),
  },
  { kind: "outage", reason: "needs a socket or a file that does not exist", holds: coded(/^ENOENT$/) },
  { kind: "outage", reason: "cannot be found: its host name has no address", holds: coded(/^(ENOTFOUND|EAI_\w+)$/) },
  {
    kind: "outage",
    reason: "cannot be reached: there is no route to its host",
    holds: coded(/^(EHOSTUNREACH|EHOSTDOWN|ENETUNREACH|ENETDOWN|EADDRNOTAVAIL|ETIMEDOUT)$/),
  },
  { kind: "outage", reason: "lost the connection", holds: coded(/^(08|ECONNRESET$|ECONNABORTED$|EPIPE$)/) },
  {
    kind: "outage",
    reason: "has a TLS certificate that is not accepted: it is not signed by an authority in `sslrootcert`",
    holds: coded(UNSIGNED),
  },
  {
    kind: "outage",
    reason: "has a TLS certificate that is not accepted: it is for another host than DATABASE_URL names",
    holds: coded(/^(ERR_TLS_CERT_ALTNAME_INVALID|HOSTNAME_MISMATCH)$/),
  },
  {
    kind: "outage",
    reason: "has a TLS certificate that is not accepted: it has expired",
    holds: coded(/^CERT_HAS_EXPIRED$/),
  },
  { kind: "outage", reason: "has a TLS certificate that is not accepted", holds: coded(CERTIFICATE) },
  { kind: "outage", reason: "does not support TLS, which DATABASE_URL requires", holds: worded(/SSL connection/i) },
  {
    kind: "outage",
    reason: "cannot be reached: this server has too many files open",
    holds: coded(/^(EMFILE|ENFILE)$/),
  },
  {
    kind: "outage",
    reason: "did not accept a connection in time",
    holds: worded(/timeout exceeded when trying|connection timeout/i),
  },
  {
    kind: "outage",
    reason: "lost the connection",
    holds: worded(/Connection terminated|connection error|was closed/i),
  },

  { kind: "unavailable", reason: "has no room left on its disk", holds: coded(NO_ROOM) },
  { kind: "unavailable", reason: READ_ONLY, holds: coded(/^EROFS$/) },
  // PostgreSQL has one code for files that the system does not let it open or write, and for a user without the right.
  {
    kind: "unavailable",
    reason:
      "cannot open or write files of its own: its disk is read-only, or they belong to another user; mount it for writing, or restore their owner",
    holds: ({ code, file = "" }) => code === "42501" && OF_FILES.test(file),
  },
  {
    kind: "unavailable",
    reason:
      "does not allow the user in DATABASE_URL to do this: that user must own the tables, or be granted all privileges on them",
    holds: coded(/^42501$/),
  },
  { kind: "unavailable", reason: "is out of memory or other resources", holds: coded(/^53/) },
  { kind: "unavailable", reason: "did not answer in time", holds: coded(/^(57014|55P03)$/) },
  { kind: "unavailable", reason: "did not answer in time", holds: worded(/Query read timeout/i) },
  { kind: "unavailable", reason: "was closed because this server is stopping", holds: worded(/after calling end/i) },
  { kind: "unavailable", reason: "was interrupted by an operator", holds: coded(/^57/) },
  { kind: "unavailable", reason: "reports a fault of its disk or an internal fault", holds: coded(/^(58|F0|XX)/) },

  { kind: "unavailable", reason: "is locked by another process", holds: sqlite(SQLITE_LOCKED) },
  { kind: "unavailable", reason: "has no room left on its disk", holds: sqlite([SQLITE_FULL]) },
  { kind: "unavailable", reason: "is in a file that cannot be written", holds: sqlite([SQLITE_READONLY]) },
  {
    kind: "unavailable",
    reason: "is in a file that cannot be read or written: its disk is full or faulty",
    holds: sqlite([SQLITE_IO]),
  },
  { kind: "unavailable", reason: "is in a file that cannot be opened", holds: sqlite([14]) },
  { kind: "unavailable", reason: DAMAGED, holds: sqlite(SQLITE_DAMAGED) },

  { kind: "bug", reason: "does not have the tables that this server started with", holds: coded(/^(42P01|3F000)$/) },
];

const ruleOf = (error: unknown): Rule | undefined => rules.find(({ holds }) => holds((error ?? {}) as DriverError));
const kindOf = (error: unknown): FailureKind => ruleOf(error)?.kind ?? "bug";
const reasonOf = (error: unknown): string => ruleOf(error)?.reason ?? "failed; the log says how";

/** The text of an error. An error for several attempts has no text of its own. */
function textOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  const { errors, code } = cause as AggregateError & { code?: string };
  return cause.message || errors?.map(textOf).join("; ") || code || cause.name;
}
