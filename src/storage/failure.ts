import { KeysteadError } from "../kernel/errors.ts";

/**
 * What a failed statement means for the caller: `retry` the whole transaction (another one was in the way), the database is
 * `unavailable` (gone, full, read-only, locked), or a `bug` of ours.
 */
export type FailureKind = "retry" | "unavailable" | "bug";

/** An error of a database driver, classified. The driver's text stays inside: it is logged and never sent. */
export class DatabaseFailure extends Error {
  readonly kind: FailureKind;

  constructor(kind: FailureKind, cause: unknown) {
    super(`database: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
    this.name = "DatabaseFailure";
    this.kind = kind;
  }
}

/** The error a caller of storage should see for whatever a driver threw. */
export function translate(error: unknown): unknown {
  if (error instanceof KeysteadError || error instanceof DatabaseFailure) return error;
  return new DatabaseFailure(kindOf(error), error);
}

const POSTGRES_RETRY = new Set(["40001", "40P01"]);
// Connection exceptions, insufficient resources (disk full), operator intervention (shutdown), read-only.
const POSTGRES_UNAVAILABLE = /^(08|53|57|25006)/;
const NETWORK = new Set(["ECONNREFUSED", "ECONNRESET", "EPIPE", "ETIMEDOUT", "ENOTFOUND", "EAI_AGAIN", "ENOENT"]);
// SQLITE_BUSY, LOCKED, READONLY, IOERR, FULL, CANTOPEN: the low byte of an extended result code.
const SQLITE_UNAVAILABLE = new Set([5, 6, 8, 10, 13, 14]);

function kindOf(error: unknown): FailureKind {
  const { code, errcode, message } = error as { code?: string; errcode?: number; message?: string };
  if (errcode !== undefined) return SQLITE_UNAVAILABLE.has(errcode & 0xff) ? "unavailable" : "bug";
  if (code !== undefined && POSTGRES_RETRY.has(code)) return "retry";
  if (code !== undefined && (POSTGRES_UNAVAILABLE.test(code) || NETWORK.has(code))) return "unavailable";
  // node-postgres has no codes for a connection that ended under a query, or that hangs.
  if (/Connection terminated|connection error|timeout exceeded when trying|Query read timeout/i.test(message ?? "")) {
    return "unavailable";
  }
  return "bug";
}
