import type { Database } from "../../src/storage/database.ts";

/** The rows of every table, each as a line of text, sorted: equal dumps are equal contents. */
export type Dump = Record<string, string[]>;

const tableNames = {
  sqlite: "select name from sqlite_master where type = 'table' and name not like 'sqlite_%' order by name",
  postgres: "select table_name as name from information_schema.tables where table_schema = 'public' order by 1",
};

/** The tables that an activity's own record stands in. */
export const recordTables: readonly string[] = ["activities", "votes", "policy_evaluations", "policy_lists"];

/** Leases come and go by themselves. */
const volatileTables: readonly string[] = ["job_lanes"];

/** Reads all tables that the database itself names. */
export async function dumpDatabase({ engine, read }: Database): Promise<Dump> {
  const tables = await read.all<{ name: string }>({ sql: tableNames[engine], parameters: [] });
  const dump: Dump = {};
  for (const { name } of tables) {
    if (volatileTables.includes(name)) continue;
    const rows = await read.all({ sql: `select * from "${name}"`, parameters: [] });
    dump[name] = rows.map((row) => JSON.stringify(row, bytesAsHex)).sort();
  }
  return dump;
}

const bytesAsHex = (_key: string, value: unknown): unknown =>
  value instanceof Uint8Array ? Buffer.from(value).toString("hex") : value;
