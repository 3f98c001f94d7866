import { MAINTENANCE, type Maintenance, shownReason } from "../../engine/maintenance.ts";
import type { Clock } from "../../kernel/clock.ts";
import { MAX_EXAMINED_FILE_BYTES } from "../../kernel/limits.ts";
import { sqliteFileOf } from "../../storage/database.ts";
import { DatabaseFailure, isDamaged, isLocked, isOutOfConnections, SQLITE_CORRUPT } from "../../storage/failure.ts";
import { type Inspection, openInspection } from "../../storage/inspection.ts";
import { UNFINISHED_COPY, UNFINISHED_COPY_REMEDY } from "../../storage/migrate.ts";
import { type Config, StartProblem } from "../config.ts";
import { refuseEmptyDatabase, refuseMissingDatabase } from "../new-installation.ts";
import { type RememberedRootKeys, rootKeysIn } from "../root-key/remembered.ts";
import { version } from "../version.ts";
import { checkClock } from "./clock.ts";
import { type Finding, fail, ok, warn } from "./finding.ts";
import { checkJobs } from "./jobs.ts";
import { checkPostgres, MORE_CONNECTIONS, POSTGRES_WRITES } from "./postgres.ts";
import { hiddenBy, hiddenText } from "./reach.ts";
import { checkWebhooks } from "./webhooks.ts";

export interface DatabaseSeen {
  findings: Finding[];
  /** The root keys whose ids the database stores; `none yet` before the first start, `unknown` if it could not be read. */
  rootKey: RememberedRootKeys | "none yet" | "unknown";
  /** Whether it has the tables of this version. */
  isOfThisVersion?: boolean;
}

/** Checks whether the database exists and answers, and whether this version can use it. */
export async function checkDatabase(config: Config, clock: Clock): Promise<DatabaseSeen> {
  const { databaseUrl } = config;
  const file = sqliteFileOf(databaseUrl);
  if (databaseUrl.startsWith("sqlite:")) {
    if (file === undefined) {
      const text = "it is in memory, and everything in it is lost when the server stops; set DATABASE_URL to keep it";
      return { findings: [warn("database", text)], rootKey: "none yet" };
    }
    const hidden = hiddenBy(file);
    if (hidden !== undefined) return { findings: [fail("database", hiddenText(file, hidden))], rootKey: "unknown" };
    const missing = missingProblem(config);
    if (missing) return missing;
  }
  let inspection: Inspection | undefined;
  try {
    inspection = await openInspection(databaseUrl);
    return await look(config, inspection, clock);
  } catch (error) {
    if (!(error instanceof DatabaseFailure)) throw error;
    const text = isDamaged(error)
      ? `the database ${error.reason}`
      : `the database ${error.reason}; ${remedyFor(error)}`;
    return { findings: [fail("database", text)], rootKey: "unknown" };
  } finally {
    await inspection?.close();
  }
}

const remedyFor = ({ cause }: DatabaseFailure): string =>
  isOutOfConnections(cause as Error)
    ? MORE_CONNECTIONS
    : "check DATABASE_URL and KEYSTEAD_DATA_DIR, and that the database is running";

/** Checked before opening, because opening a missing SQLite file would create it. */
function missingProblem(config: Config): DatabaseSeen | undefined {
  try {
    refuseMissingDatabase(config, "refuse");
    return undefined;
  } catch (error) {
    if (!(error instanceof StartProblem)) throw error;
    return emptyDatabase(config);
  }
}

/** A first start may create an installation in it, unless other files show that an existing one has lost its database. */
function emptyDatabase(config: Config): DatabaseSeen {
  try {
    refuseEmptyDatabase(config, "begin");
    const text = "the database is empty; the first start creates an installation";
    return { findings: [warn("database", text)], rootKey: "none yet" };
  } catch (error) {
    if (!(error instanceof StartProblem)) throw error;
    return { findings: [fail("database", error.message)], rootKey: "unknown" };
  }
}

async function look(config: Config, inspection: Inspection, clock: Clock): Promise<DatabaseSeen> {
  const { kind } = inspection;
  const outside =
    kind === "postgres"
      ? [await checkClock(inspection, clock), ...(await checkPostgres(inspection, config.postgres, clock))]
      : [];
  const state = await inspection.schemaState();
  if (state.isEmpty) {
    const { findings, rootKey } = emptyDatabase(config);
    return { findings: [...findings, ...outside], rootKey };
  }
  const reached = kind === "postgres" ? ok("database", "PostgreSQL answers") : await checkPages(inspection);
  const rows = await inspection.all<{ name: string; value: string }>("select name, value from installation");
  const rootKeys = rootKeysIn(new Map(rows.map(({ name, value }) => [name, value])));
  const isOfThisVersion = state.pending.length === 0 && state.unknown.length === 0;
  const inside = isOfThisVersion
    ? [await checkWebhooks(inspection), await checkJobs(inspection), ...(await checkMaintenance(inspection))]
    : [];
  // If PostgreSQL's settings refuse writes, there is a finding for that already.
  const isReadOnly = outside.some((finding) => finding.check === POSTGRES_WRITES && finding.state === "fail");
  const writes = isReadOnly ? [] : [await checkWrites(inspection)];
  return {
    findings: [reached, ...writes, schemaFinding(state), ...outside, ...inside],
    rootKey: rootKeys ?? "none yet",
    isOfThisVersion,
  };
}

/** Reads the whole file, unless that takes too long, because a damaged page is noticed only when something needs it. */
async function checkPages(inspection: Inspection): Promise<Finding> {
  const [size] = await inspection.all<{ bytes: number }>(
    "select page_count * page_size as bytes from pragma_page_count, pragma_page_size",
  );
  if ((size?.bytes ?? 0) > MAX_EXAMINED_FILE_BYTES) {
    return ok(
      "database",
      "SQLite answers; the file is too large to look for damage here, but `keystead backup` reads it all",
    );
  }
  const [found] = await inspection.all<{ quick_check: string }>("pragma quick_check(1)");
  if (found?.quick_check === "ok") return ok("database", "SQLite answers, and no page of the file is damaged");
  throw new DatabaseFailure("unavailable", Object.assign(new Error(found?.quick_check), { errcode: SQLITE_CORRUPT }));
}

/** Tries a write, because reads also work if writes do not. */
export async function checkWrites(inspection: Pick<Inspection, "tryWrite">): Promise<Finding> {
  const check = "database writes";
  try {
    await inspection.tryWrite();
    return ok(check, "it accepts writes");
  } catch (error) {
    if (!(error instanceof DatabaseFailure)) throw error;
    if (isLocked(error)) return ok(check, "it is being written to");
    const remedy =
      "make room on its disk, check that the disk works and is mounted for writing, and that the server's user may write the database's files";
    return fail(check, `the database ${error.reason}; ${remedy}`);
  }
}

async function checkMaintenance(inspection: Pick<Inspection, "all">): Promise<Finding[]> {
  const [row] = await inspection.all<{ value: string }>(`select value from installation where name = '${MAINTENANCE}'`);
  if (!row) return [];
  const maintenance = JSON.parse(row.value) as Maintenance;
  const { since, operator } = maintenance;
  const text = `on since ${new Date(since).toISOString()}${shownReason(maintenance)}, by ${operator.user} on ${operator.host}: changes are refused; \`keystead maintenance off\` ends it`;
  return [warn("maintenance", text)];
}

function schemaFinding({ unknown, pending }: { unknown: string[]; pending: string[] }): Finding {
  if (unknown.includes(UNFINISHED_COPY)) {
    return fail("schema", `the database is an unfinished copy: ${UNFINISHED_COPY_REMEDY}`);
  }
  if (unknown.length > 0) {
    const text = `the database was migrated to a newer version of Keystead than ${version}: it has ${unknown.join(", ")}; start the newer version, or restore a backup from before the upgrade`;
    return fail("schema", text);
  }
  if (pending.length > 0) {
    const text = `the database has the tables of an older version: ${pending.join(", ")} will run; back it up, then start the server once`;
    return warn("schema", text);
  }
  return ok("schema", `it is that of version ${version}`);
}
