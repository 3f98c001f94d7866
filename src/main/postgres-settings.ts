import { Type } from "typebox";
import { POSTGRES_DEFAULTS, type PostgresSettings } from "../storage/postgres-settings.ts";
import { hostsProblem } from "../storage/postgres-urls.ts";

const Seconds = (description: string, maximum: number) => Type.Integer({ minimum: 1, maximum, description });

/** A transaction uses one connection while reads use another. */
const LEAST_CONNECTIONS = 2;

export const Postgres = {
  postgresConnections: Type.Integer({
    minimum: LEAST_CONNECTIONS,
    maximum: 1000,
    description: "The most connections to PostgreSQL that a server opens, plus two to monitor the database.",
  }),
  postgresConnectSeconds: Seconds("How long connecting to PostgreSQL may take.", 60),
  postgresWaitSeconds: Seconds("How long a request waits for a free connection to PostgreSQL.", 60),
  postgresStatementSeconds: Seconds("How long one statement on PostgreSQL may take.", 60),
  postgresPrepared: Type.Unsafe<"on" | "off">({
    type: "string",
    enum: ["on", "off"],
    description:
      "Whether to use prepared statements: `off` behind a pooler that gives each transaction another session, as PgBouncer does.",
  }),
};

export const postgresEnvironment = {
  postgresConnections: "KEYSTEAD_POSTGRES_CONNECTIONS",
  postgresConnectSeconds: "KEYSTEAD_POSTGRES_CONNECT_SECONDS",
  postgresWaitSeconds: "KEYSTEAD_POSTGRES_WAIT_SECONDS",
  postgresStatementSeconds: "KEYSTEAD_POSTGRES_STATEMENT_SECONDS",
  postgresPrepared: "KEYSTEAD_POSTGRES_PREPARED",
} as const;

interface Given {
  postgresConnections?: number;
  postgresConnectSeconds?: number;
  postgresWaitSeconds?: number;
  postgresStatementSeconds?: number;
  postgresPrepared?: "on" | "off";
}

export function postgresSettingsOf(
  given: Given,
  databaseUrl: string,
  refuse: (problem: string) => never,
): PostgresSettings {
  const problem = databaseUrl.startsWith("sqlite:") ? undefined : hostsProblem(databaseUrl);
  if (problem !== undefined) refuse(problem);
  const { connections, connectTimeoutMs, waitMs, statementTimeoutMs } = POSTGRES_DEFAULTS;
  const milliseconds = (seconds: number | undefined, otherwise: number) =>
    seconds === undefined ? otherwise : seconds * 1000;
  return {
    connections: given.postgresConnections ?? connections,
    connectTimeoutMs: milliseconds(given.postgresConnectSeconds, connectTimeoutMs),
    waitMs: milliseconds(given.postgresWaitSeconds, waitMs),
    statementTimeoutMs: milliseconds(given.postgresStatementSeconds, statementTimeoutMs),
    prepared: given.postgresPrepared !== "off",
  };
}
