import type { Database } from "../../storage/database.ts";
import type { Reader } from "../../storage/engine.ts";

/** What operators can see of jobs and do about them. */

export interface ShownJob {
  id: string;
  kind: string;
  state: "waiting" | "dead";
  organizationId: string | null;
  attempts: number;
  /** RFC 3339. */
  runAt: string;
  createdAt: string;
  lastError: string | null;
  payload: unknown;
}

/** Jobs in one state, oldest first. Payloads hold identifiers; secrets are sealed separately and not shown. */
export async function listJobs(read: Reader, state: "waiting" | "dead", limit: number): Promise<ShownJob[]> {
  const rows = await read
    .selectFrom("jobs")
    .selectAll()
    .where("state", "=", state)
    .orderBy("id")
    .limit(limit)
    .execute();
  return rows.map((row) => ({
    id: row.id,
    kind: row.kind,
    state: row.state,
    organizationId: row.organization_id,
    attempts: row.attempts,
    runAt: new Date(row.run_at).toISOString(),
    createdAt: new Date(row.created_at).toISOString(),
    lastError: row.last_error,
    payload: JSON.parse(row.payload),
  }));
}

/** Which of these jobs are dead. */
export async function deadJobsAmong(read: Reader, ids: readonly string[]): Promise<Set<string>> {
  const rows = await read.selectFrom("jobs").select("id").where("state", "=", "dead").where("id", "in", ids).execute();
  return new Set(rows.map(({ id }) => id));
}

/** Restarts dead jobs, all of them or those named; resolves to the ids of those that were dead. */
export function retryDeadJobs(database: Database, ids: readonly string[] | undefined, now: number): Promise<string[]> {
  return database.transact("jobs", async (tx) => {
    const revived = await tx
      .updateTable("jobs")
      .set({ state: "waiting", attempts: 0, run_at: now, updated_at: now })
      .where("state", "=", "dead")
      .$if(ids !== undefined, (jobs) => jobs.where("id", "in", [...(ids ?? [])]))
      .returning("id")
      .execute();
    return revived.map(({ id }) => id);
  });
}
