import { statSync } from "node:fs";
import { dirname } from "node:path";
import type { Registry } from "prom-client";
import type { Clock } from "../../kernel/clock.ts";
import { freeBytesAt } from "../../kernel/free-bytes.ts";
import { type Database, sqliteFileOf } from "../../storage/database.ts";
import { clockApartMs } from "../clock-apart.ts";
import type { Config } from "../config.ts";
import { inTime } from "../in-time.ts";
import { gauge } from "./metrics.ts";

/** Metrics of the database: what waits for it, its size on disk, and the difference between its clock and this machine's. */
export function measureDatabase(
  registry: Registry,
  { databaseUrl, dataDir }: Pick<Config, "databaseUrl" | "dataDir">,
  database: Pick<Database, "kind" | "read" | "figures">,
  clock: Clock,
): void {
  gauge(registry, "commit_waiting", "Functions that wait for a transaction.", () => database.figures().commitsWaiting);
  if (database.kind === "postgres") {
    const pool = () => database.figures().pool;
    gauge(registry, "db_pool_in_use", "Connections to PostgreSQL in use.", () => pool()?.inUse);
    gauge(registry, "db_pool_idle", "Connections to PostgreSQL that nothing uses.", () => pool()?.idle);
    gauge(
      registry,
      "db_pool_waiting",
      "Transactions and queries that wait for a connection to PostgreSQL.",
      () => pool()?.waiting,
    );
    const end = "When the first certificate for connections to PostgreSQL expires; missing without TLS.";
    gauge(registry, "db_certificate_expiry_timestamp_seconds", end, () => {
      const endsAt = pool()?.certificateEndsAt;
      return endsAt === undefined ? undefined : endsAt / 1000;
    });
    measureClock(registry, database, clock);
  }
  const file = sqliteFileOf(databaseUrl);
  if (file !== undefined) {
    gauge(registry, "sqlite_db_bytes", "Size of the database file.", () => sizeOf(file));
    gauge(registry, "sqlite_wal_bytes", "Size of the write-ahead log beside it.", () => sizeOf(`${file}-wal`) ?? 0);
  }
  const folder = file === undefined ? dataDir : dirname(file);
  gauge(registry, "disk_free_bytes", "Free space where the database or, with PostgreSQL, the data directory is.", () =>
    freeBytesAt(folder),
  );
}

function measureClock(registry: Registry, { read }: Pick<Database, "read">, clock: Clock): void {
  const look = inTime(() => clockApartMs((sql) => read.all({ sql, parameters: [] }), clock));
  const help =
    "By how much the database's clock is ahead of this machine's; missing while the database does not answer.";
  gauge(registry, "clock_skew_seconds", help, async () => {
    const apartMs = await look();
    return apartMs === undefined ? undefined : apartMs / 1000;
  });
}

/** Undefined also if the file may not be read; the other metrics are needed then in particular. */
function sizeOf(file: string): number | undefined {
  try {
    return statSync(file).size;
  } catch {
    return undefined;
  }
}
