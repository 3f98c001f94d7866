import pg from "pg";
import { postgresTypes } from "./postgres-pool.ts";
import { POSTGRES_DEFAULTS } from "./postgres-settings.ts";

/**
 * A client for one connection outside of a pool, not connected yet. Its statements have no time limit unless `more` sets one.
 *
 * @param name shown in `pg_stat_activity`
 */
export function singleClient(connectionString: string, name: string, more: pg.ClientConfig = {}): pg.Client {
  const client = new pg.Client({
    connectionString,
    types: postgresTypes as pg.CustomTypesConfig,
    connectionTimeoutMillis: POSTGRES_DEFAULTS.connectTimeoutMs,
    keepAlive: true,
    application_name: name,
    ...more,
  });
  // If a connection breaks, its current statement fails; without a listener the error would also end the process.
  client.on("error", () => {});
  return client;
}
