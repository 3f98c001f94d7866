import { sql } from "kysely";
import { FAILING_ENDPOINT_DELIVERIES, MAX_COUNTED_ENDPOINTS, MAX_COUNTED_JOBS } from "../../kernel/limits.ts";
import type { Reader } from "../../storage/engine.ts";
import { laneOf } from "./queue-delivery.ts";

/** Endpoints that currently fail, for operators: their number for metrics, and a list for people. */

export interface FailingEndpoints {
  /** Up to MAX_COUNTED_ENDPOINTS. */
  count: number;
  /** Milliseconds; null if none is failing. */
  since: number | null;
}

/** The literals of the partial index; PostgreSQL would not use it with a parameter. */
const FAILING = "failing_since is not null and is_active = 1";

export const COUNT_FAILING_ENDPOINTS = `select count(*) as count, min(failing_since) as since
  from (select failing_since from webhook_endpoints where ${FAILING} order by failing_since limit ${MAX_COUNTED_ENDPOINTS}) as failing`;

export async function countFailingEndpoints(read: Reader): Promise<FailingEndpoints> {
  const [row] = await read.all<FailingEndpoints>({ sql: COUNT_FAILING_ENDPOINTS, parameters: [] });
  return row as FailingEndpoints;
}

export interface ShownFailingEndpoint {
  endpointId: string;
  organizationId: string;
  /** Without path and query, which may contain the organization's secrets. */
  host: string;
  /** RFC 3339; no delivery has succeeded since. */
  failingSince: string;
  /** Waiting deliveries, up to MAX_COUNTED_JOBS. */
  waiting: number;
  /** The last attempt among the endpoint's newest deliveries; null if the log has none any more. */
  lastAttempt: { at: string; statusCode: number | null; error: string | null } | null;
}

/** Active endpoints that currently fail, the longest-failing first. */
export async function listFailingEndpoints(read: Reader, limit: number): Promise<ShownFailingEndpoint[]> {
  const endpoints = await read
    .selectFrom("webhook_endpoints")
    .select(["id", "organization_id", "url", "failing_since"])
    .where("failing_since", "is not", null)
    .where("is_active", "=", sql.lit(1))
    .orderBy("failing_since")
    .limit(limit)
    .execute();
  const shown: ShownFailingEndpoint[] = [];
  for (const { id, organization_id: organizationId, url, failing_since } of endpoints) {
    shown.push({
      endpointId: id,
      organizationId,
      host: new URL(url).host,
      failingSince: timeOf(failing_since as number),
      waiting: await countWaiting(read, laneOf(id)),
      lastAttempt: await lastAttempt(read, organizationId, id),
    });
  }
  return shown;
}

const timeOf = (ms: number): string => new Date(ms).toISOString();

async function countWaiting(read: Reader, lane: string): Promise<number> {
  const { count } = await read
    .selectFrom((waiting) =>
      waiting
        .selectFrom("jobs")
        .select("id")
        .where("lane", "=", lane)
        .where("state", "=", "waiting")
        .limit(MAX_COUNTED_JOBS)
        .as("waiting"),
    )
    .select((row) => row.fn.countAll<number>().as("count"))
    .executeTakeFirstOrThrow();
  return count;
}

async function lastAttempt(
  read: Reader,
  organizationId: string,
  endpointId: string,
): Promise<ShownFailingEndpoint["lastAttempt"]> {
  const deliveries = await read
    .selectFrom("webhook_deliveries")
    .select("id")
    .where("organization_id", "=", organizationId)
    .where("endpoint_id", "=", endpointId)
    .where("attempts", ">", 0)
    .orderBy("id", "desc")
    .limit(FAILING_ENDPOINT_DELIVERIES)
    .execute();
  if (deliveries.length === 0) return null;
  const last = await read
    .selectFrom("webhook_attempts")
    .select(["started_at", "status_code", "error"])
    .where("organization_id", "=", organizationId)
    .where(
      "delivery_id",
      "in",
      deliveries.map(({ id }) => id),
    )
    .orderBy("started_at", "desc")
    .limit(1)
    .executeTakeFirst();
  return last ? { at: timeOf(last.started_at), statusCode: last.status_code, error: last.error } : null;
}
