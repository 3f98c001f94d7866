import { COMMIT_DEADLINE_MS } from "../kernel/limits.ts";

/** What operators can set of a server's connections to PostgreSQL. */
export interface PostgresSettings {
  /** At most, beside those of the health check. */
  connections: number;
  /** How long one may take to come about. */
  connectTimeoutMs: number;
  /** How long a read waits for one that is free. */
  waitMs: number;
  /** How long one statement may take, and how long its answer may stay away. */
  statementTimeoutMs: number;
  /**
   * Whether a session is ours alone, so that it keeps prepared statements and settings. A pooler that gives each transaction another
   * session keeps neither.
   */
  prepared: boolean;
}

export const POSTGRES_DEFAULTS: PostgresSettings = {
  connections: 14,
  connectTimeoutMs: 5_000,
  waitMs: 5_000,
  statementTimeoutMs: COMMIT_DEADLINE_MS,
  prepared: true,
};
