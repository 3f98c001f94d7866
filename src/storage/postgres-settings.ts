import { COMMIT_DEADLINE_MS } from "../kernel/limits.ts";

/** Operators' settings for a server's connections to PostgreSQL. */
export interface PostgresSettings {
  /** The maximum, not counting those of the health check. */
  connections: number;
  /** Timeout for making a connection. */
  connectTimeoutMs: number;
  /** How long a read waits for a free connection. */
  waitMs: number;
  /** Timeout for a statement, and for its answer to arrive. */
  statementTimeoutMs: number;
  /** Whether sessions keep prepared statements and settings. False if a pooler may give each transaction another session. */
  prepared: boolean;
}

export const POSTGRES_DEFAULTS: PostgresSettings = {
  connections: 14,
  connectTimeoutMs: 5_000,
  waitMs: 5_000,
  statementTimeoutMs: COMMIT_DEADLINE_MS,
  prepared: true,
};
