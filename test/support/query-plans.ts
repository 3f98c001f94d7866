import {
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from "kysely";
import pg from "pg";
import type { Connection, DatabaseKind, Transactor } from "../../src/storage/engine.ts";
import { PostgresConnection } from "../../src/storage/postgres.ts";
import type { Schema } from "../../src/storage/schema.ts";
import { openSqlite } from "../../src/storage/sqlite.ts";

/** What a database means to do for one statement: a line for each step of SQLite, or each node of PostgreSQL. */
export interface QueryPlan {
  sql: string;
  steps: string[];
  /** PostgreSQL alone, which tells it by running the statement: the most rows that one node read, passed on or not. */
  mostRows: number | undefined;
}

/** Reads a database as the service does, and keeps the plan of each statement. */
export interface PlanReader {
  /** The plans of what `work` selects; what it writes is rolled back. */
  plansOf(work: (tx: Transactor) => Promise<unknown>): Promise<QueryPlan[]>;
  close(): Promise<void>;
}

export async function openPlanReader(url: string): Promise<PlanReader> {
  return url.startsWith("sqlite:") ? sqlitePlanReader(url.slice("sqlite:".length)) : postgresPlanReader(url);
}

/** Has PostgreSQL take its statistics now. */
export const analyze = (url: string): Promise<void> => tellPostgres(url, "analyze");

/** Has PostgreSQL take its statistics now, and see to what was written. */
export const vacuum = (url: string): Promise<void> => tellPostgres(url, "vacuum analyze", "checkpoint");

async function tellPostgres(url: string, ...commands: string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  for (const command of commands) await client.query(command);
  await client.end();
}

function sqlitePlanReader(file: string): PlanReader {
  const connection = openSqlite(file);
  return planReader(
    "sqlite",
    connection,
    async () => connection.close(),
    async (sql, parameters) => {
      const rows = await connection.all<{ detail: string }>(`explain query plan ${sql}`, parameters);
      return { sql, steps: rows.map(({ detail }) => detail), mostRows: undefined };
    },
  );
}

interface PostgresNode {
  "Node Type": string;
  "Index Name"?: string;
  "Relation Name"?: string;
  "Actual Rows": number;
  "Actual Loops": number;
  "Rows Removed by Filter"?: number;
  "Rows Removed by Index Recheck"?: number;
  Plans?: PostgresNode[];
}

async function postgresPlanReader(url: string): Promise<PlanReader> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const connection = new PostgresConnection(client);
  return planReader(
    "postgres",
    connection,
    () => client.end(),
    async (sql, parameters) => {
      const text = `explain (analyze, timing off, format json) ${sql}`;
      const { rows } = await client.query({ text, values: parameters as unknown[] });
      const nodes = nodesOf(rows[0]["QUERY PLAN"][0].Plan);
      const steps = nodes.map((node) =>
        [node["Node Type"], node["Index Name"] ?? node["Relation Name"]].filter(Boolean).join(" on "),
      );
      return { sql, steps, mostRows: Math.max(...nodes.map(rowsRead)) };
    },
  );
}

const raw = (sql: string) => ({ sql, parameters: [], query: { kind: "RawNode" } }) as never;

const nodesOf = (node: PostgresNode): PostgresNode[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)];
const rowsRead = (node: PostgresNode): number =>
  node["Actual Loops"] *
  (node["Actual Rows"] + (node["Rows Removed by Filter"] ?? 0) + (node["Rows Removed by Index Recheck"] ?? 0));

function planReader(
  kind: DatabaseKind,
  connection: Connection,
  close: () => Promise<void>,
  explain: (sql: string, parameters: readonly unknown[]) => Promise<QueryPlan>,
): PlanReader {
  const plans: QueryPlan[] = [];
  const explained = async <T>(sql: string, parameters: readonly unknown[], run: () => Promise<T>): Promise<T> => {
    if (sql.trimStart().startsWith("select")) plans.push(await explain(sql, parameters));
    return run();
  };
  const explaining: Connection = {
    all: (sql, parameters) => explained(sql, parameters, () => connection.all(sql, parameters)),
    executeQuery: (query) => explained(query.sql, query.parameters, () => connection.executeQuery(query)),
    streamQuery: () => {
      throw new Error("nothing streams");
    },
  };
  const kysely = new Kysely<Schema>({
    dialect: {
      createAdapter: () => (kind === "sqlite" ? new SqliteAdapter() : new PostgresAdapter()),
      createDriver: () => ({
        init: async () => {},
        acquireConnection: async () => explaining,
        beginTransaction: async () => {},
        commitTransaction: async () => {},
        rollbackTransaction: async () => {},
        releaseConnection: async () => {},
        destroy: async () => {},
      }),
      createIntrospector: (db) => (kind === "sqlite" ? new SqliteIntrospector(db) : new PostgresIntrospector(db)),
      createQueryCompiler: () => (kind === "sqlite" ? new SqliteQueryCompiler() : new PostgresQueryCompiler()),
    },
  });
  const transactor = Object.assign(kysely, {
    kind,
    all: ({ sql, parameters }: Parameters<Transactor["all"]>[0]) => explaining.all(sql, parameters),
  }) as unknown as Transactor;
  return {
    async plansOf(work) {
      plans.length = 0;
      await connection.executeQuery(raw("begin"));
      try {
        await work(transactor);
      } finally {
        await connection.executeQuery(raw("rollback"));
      }
      return [...plans];
    },
    close,
  };
}
