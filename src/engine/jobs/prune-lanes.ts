import { HOUR_MS } from "../../kernel/durations.ts";
import type { Transactor } from "../../storage/engine.ts";
import { reconciler } from "./jobs.ts";
import { deleteInPortions } from "./portions.ts";

/** Deletes lanes that have no jobs; the next job of such a lane brings it back. Finding due work reads every lane. */
export const pruneJobLanes = reconciler({
  name: "prune_job_lanes",
  everyMs: HOUR_MS,
  async run({ database, clock }) {
    await deleteInPortions(
      database,
      async (tx, limit) => {
        await keepJobsOut(tx);
        const unused = tx
          .selectFrom("job_lanes")
          .select("lane")
          .where("leased_until", "<=", clock())
          .where((where) =>
            where.not(
              where.exists(where.selectFrom("jobs").select("jobs.id").whereRef("jobs.lane", "=", "job_lanes.lane")),
            ),
          )
          .limit(limit);
        const deleted = await tx.deleteFrom("job_lanes").where("lane", "in", unused).returning("lane").execute();
        return deleted.length;
      },
      { scope: "jobs" },
    );
  },
});

/**
 * Waits for the transactions that are adding jobs and holds new ones off for the moment that a portion takes: a job
 * whose lane goes would never run. SQLite has one writer anyway.
 */
async function keepJobsOut(tx: Transactor): Promise<void> {
  if (tx.kind !== "postgres") return;
  // Should it have to wait longer, it is for the next try.
  await tx.all({ sql: "set local lock_timeout = '2s'", parameters: [] });
  await tx.all({ sql: "lock table job_lanes in share row exclusive mode", parameters: [] });
}
