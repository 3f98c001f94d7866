import { HOUR_MS } from "../../kernel/durations.ts";
import type { Transactor } from "../../storage/engine.ts";
import { reconciler } from "./jobs.ts";
import { deleteInPortions } from "./portions.ts";

/** Deletes lanes without jobs, because finding due work reads every lane. The next job of such a lane creates it again. */
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
 * Waits for the transactions that are adding jobs and blocks new ones until the portion is deleted, because a job whose lane is deleted would
 * never run. SQLite has a single writer anyway.
 */
async function keepJobsOut(tx: Transactor): Promise<void> {
  if (tx.kind !== "postgres") return;
  // If that takes longer, the next run tries again.
  await tx.all({ sql: "set local lock_timeout = '2s'", parameters: [] });
  await tx.all({ sql: "lock table job_lanes in share row exclusive mode", parameters: [] });
}
