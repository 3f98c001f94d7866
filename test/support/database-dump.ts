import assert from "node:assert/strict";
import type { Database } from "../../src/storage/database.ts";
import type { Reader } from "../../src/storage/engine.ts";

/** The rows of every table, each as a line of text, sorted: equal dumps are equal contents. */
export type Dump = Record<string, string[]>;

const tableNames = {
  sqlite: "select name from sqlite_master where type = 'table' and name not like 'sqlite_%' order by name",
  postgres: "select table_name as name from information_schema.tables where table_schema = 'public' order by 1",
};

/** The tables that an activity's own record stands in. */
export const recordTables: readonly string[] = ["activities", "votes", "policy_evaluations", "policy_lists"];

/** Leases come and go by themselves, and what becomes of a mail is told when it is. Nonces are taken when transactions are signed. */
const volatileTables: readonly string[] = [
  ...["job_lanes", "servers", "email_events", "mails", "send_nonces", "sponsor_nonces", "sponsored_sends"],
  // What is sent has an activity, which is compared; a deposit is sent after its approval was.
  "send_transactions",
  // What a transaction cost is put right when it is known.
  ...["gas_usage", "gas_costs"],
  // What happened is counted a while later.
  ...["daily_counts", "counted_sources"],
  // What is earned is booked when a block has it.
  "earn_positions",
  // What shares are worth is looked up once an hour, for the first time soon after the start.
  "earn_share_prices",
  // Chains are followed all the time.
  ...["followed_chains", "followed_blocks", "eth_history", "own_transactions"],
];
/** So do the jobs that send messages, those that follow transactions, and the one that counts. */
const isVolatile = (table: string, line: string): boolean =>
  table === "jobs" &&
  /"(send_(mail|sms)|follow_solana_sends|follow_evm_sends|settle_evm_send|watch_chain:[^"]*|follow_earn_request|sample_earn_share_prices|follow_swap|count_by_day)"/.test(
    line,
  );
/** That a credential was used for the first time is noted after the answer to a query. */
const volatileColumns: readonly string[] = ["seniority"];
/** What becomes of a request to earn or to swap is told when its transactions are in a block. */
const ofRequests: Readonly<Record<string, readonly string[]>> = {
  earn_requests: ["status", "transaction_hash", "error", "booked", "updated_at"],
  swaps: ["status", "output_amount", "error", "updated_at"],
};
const volatileColumnsOf = (table: string): readonly string[] => [...volatileColumns, ...(ofRequests[table] ?? [])];

/**
 * Reads all tables that the database itself names; of what belongs to organizations only the rows of those named, if any
 * are: a database that serves many tests grows.
 */
export async function dumpDatabase({ kind, read }: Database, organizationIds?: readonly string[]): Promise<Dump> {
  const names = await read.all<{ name: string }>({ sql: tableNames[kind], parameters: [] });
  const tables = names.map(({ name }) => name).filter((name) => !volatileTables.includes(name));
  const lines = kind === "sqlite" ? linesOfEach : linesOfAll;
  return lines(read, tables, organizationIds);
}

async function linesOfEach(read: Reader, tables: string[], organizationIds?: readonly string[]): Promise<Dump> {
  const dump: Dump = {};
  for (const table of tables) {
    const rows = await read.all(await rowsOf(read, table, "*", organizationIds));
    const lines = rows.map((row) => JSON.stringify(row, shownOf(table))).sort();
    dump[table] = lines.filter((line) => !isVolatile(table, line));
  }
  return dump;
}

/** In one statement: PostgreSQL answers over a connection, and there are many tables. */
async function linesOfAll(read: Reader, tables: string[], organizationIds?: readonly string[]): Promise<Dump> {
  const lineOf = (table: string): string => {
    const left = volatileColumnsOf(table).map((name) => `'${name}'`);
    return `(to_jsonb(t) - array[${left.join(", ")}])::text as line`;
  };
  const selections = await Promise.all(
    tables.map(
      async (table) => (await rowsOf(read, table, `'${table}' as name, ${lineOf(table)}`, organizationIds)).sql,
    ),
  );
  const rows = await read.all<{ name: string; line: string }>({
    sql: selections.join(" union all "),
    parameters: organizationIds ?? [],
  });
  const dump: Dump = Object.fromEntries(tables.map((table) => [table, []]));
  for (const { name, line } of rows) if (!isVolatile(name, line)) dump[name]?.push(line);
  for (const lines of Object.values(dump)) lines.sort();
  return dump;
}

/**
 * Dumps the same rows again and again: reads them anew only after something was committed, and otherwise gives the very dump
 * of before. SQLite tells whether; PostgreSQL is read each time.
 */
export function watchDatabase(database: Database, organizationIds?: readonly string[]): () => Promise<Dump> {
  let last: { version: number; dump: Dump } | undefined;
  return async () => {
    const version = await versionOf(database);
    if (version !== undefined && last?.version === version) return last.dump;
    const dump = await dumpDatabase(database, organizationIds);
    last = version === undefined ? undefined : { version, dump };
    return dump;
  };
}

/** Another number after each commit of another connection than the one that reads. */
async function versionOf({ kind, read }: Database): Promise<number | undefined> {
  if (kind !== "sqlite") return undefined;
  const [row] = await read.all<{ data_version: number }>({ sql: "pragma data_version", parameters: [] });
  return row?.data_version;
}

/** Holds each table against what it was. */
export function assertSameDump(before: Dump, after: Dump, about: string, except: readonly string[] = []): void {
  if (before === after) return;
  for (const table of Object.keys(before)) {
    if (!except.includes(table)) assert.deepEqual(after[table], before[table], `${about} changed ${table}`);
  }
}

interface Statement {
  sql: string;
  parameters: readonly string[];
}

async function rowsOf(
  read: Reader,
  table: string,
  columns: string,
  organizationIds?: readonly string[],
): Promise<Statement> {
  const all = `select ${columns} from "${table}" t`;
  if (!organizationIds) return { sql: all, parameters: [] };
  const column = table === "organizations" ? "id" : "organization_id";
  if (!(await hasColumn(read, table, column))) return { sql: all, parameters: [] };
  const marks = organizationIds.map((_, index) => (read.kind === "sqlite" ? "?" : `$${index + 1}`)).join(", ");
  return { sql: `${all} where "${column}" in (${marks})`, parameters: organizationIds };
}

const knownColumns = new Map<string, readonly string[]>();

async function hasColumn(read: Reader, table: string, column: string): Promise<boolean> {
  const known = `${read.kind} ${table}`;
  const columns = knownColumns.get(known) ?? (await columnsOf(read, table));
  knownColumns.set(known, columns);
  return columns.includes(column);
}

async function columnsOf(read: Reader, table: string): Promise<string[]> {
  const sql =
    read.kind === "sqlite"
      ? "select name from pragma_table_info(?)"
      : "select column_name as name from information_schema.columns where table_schema = 'public' and table_name = $1";
  const columns = await read.all<{ name: string }>({ sql, parameters: [table] });
  return columns.map(({ name }) => name);
}

const shownOf =
  (table: string) =>
  (key: string, value: unknown): unknown => {
    if (volatileColumnsOf(table).includes(key)) return undefined;
    return value instanceof Uint8Array ? Buffer.from(value).toString("hex") : value;
  };
