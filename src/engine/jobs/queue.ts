import { type Expression, expressionBuilder, type SqlBool, sql } from "kysely";
import { MINUTE_MS } from "../../kernel/durations.ts";
import type { Transactor } from "../../storage/engine.ts";
import { prepared, preparedWrite } from "../../storage/prepared.ts";
import type { Schema } from "../../storage/schema.ts";
import type { Gates } from "./gates.ts";
import { enqueue, type JobKind } from "./jobs.ts";
import { isFree, type LeaseTimes } from "./leases.ts";

/**
 * What a worker reads and writes in the tables of jobs and lanes. A lane belongs to the process that leased it, so each change by a process
 * names its owner, and each change of a job the version that the process read.
 */

/** How far a synchronized clock may be set back, and the clocks of several servers may differ. */
export const CLOCK_MOVES_MS = MINUTE_MS;
const JOBS_AT_ONCE = 20;

/**
 * Moves waiting jobs that were scheduled by a clock which has been set back since: they keep their delay, counted from now. Resolves to their
 * number.
 */
export async function putForward(tx: Transactor, now: number): Promise<number> {
  const latest = now + CLOCK_MOVES_MS;
  const moved = await tx
    .updateTable("jobs")
    .set({ run_at: sql<number>`run_at - updated_at + ${now}`, updated_at: now })
    .where("state", "=", "waiting")
    .where("run_at", ">", latest)
    .where("updated_at", ">", latest)
    .executeTakeFirst();
  return Number(moved.numUpdatedRows);
}

/** Queues a reconciler's job unless it is due within its interval. */
export async function ensureReconciler(tx: Transactor, kind: JobKind, now: number): Promise<void> {
  const key = `reconciler:${kind.name}`;
  const known = await tx.selectFrom("jobs").select("run_at").where("key", "=", key).executeTakeFirst();
  // Otherwise it is due later than its interval, after failures or because a clock was ahead: run it now.
  if (known && known.run_at <= now + (kind.everyMs ?? 0)) return;
  await enqueue(tx, {
    kind: kind.name,
    payload: null,
    lane: key,
    gate: key,
    organizationId: null,
    runAt: now,
    now,
    key,
  });
}

/** A condition on `jobs as j`: the job is due and of one of these kinds. */
function isDue(now: number, kinds: readonly string[]): Expression<SqlBool> {
  const job = expressionBuilder<{ j: Schema["jobs"] }, "j">();
  return job.and([job("j.state", "=", "waiting"), job("j.run_at", "<=", now), job("j.kind", "in", kinds)]);
}

/** A condition on `job_lanes as l`: it has a due job, and nobody has leased it. */
function canBeClaimed(times: LeaseTimes, kinds: readonly string[]): Expression<SqlBool> {
  const lane = expressionBuilder<Schema & { l: Schema["job_lanes"] }, "l">();
  const dueJobs = lane
    .selectFrom("jobs as j")
    .select("j.id")
    .whereRef("j.lane", "=", "l.lane")
    .where(isDue(times.now, kinds));
  return lane.and([isFree(lane.ref("l.leased_until"), times), lane.exists(dueJobs)]);
}

export interface Lane {
  lane: string;
  gate: Gates;
}

export type JobRow = Awaited<ReturnType<ReturnType<typeof selectionsOf>["dueJobs"]>>[number];

/** Statements that only see jobs of these kinds: a newer release may run on the same database and have others. */
export const selectionsOf = (kinds: readonly string[]) => ({
  dueLane: prepared<LeaseTimes>()((db, times) =>
    db.selectFrom("job_lanes as l").select("l.lane").where(canBeClaimed(times, kinds)).limit(1),
  ),
  /** None once the lane has another gate, such as by the outcome of its last job: there must be room at that one. */
  dueJobs: prepared<{ lane: string; gate: Gates; now: number }>()((db, { lane, gate, now }) =>
    db
      .selectFrom("jobs as j")
      .selectAll()
      .where("j.lane", "=", lane)
      .where(({ exists, selectFrom }) =>
        exists(selectFrom("job_lanes as l").select("l.lane").where("l.lane", "=", lane).where("l.gate", "=", gate)),
      )
      .where(isDue(now, kinds))
      .orderBy("j.run_at")
      .orderBy("j.id")
      .limit(JOBS_AT_ONCE),
  ),
});

const gatesOfLane = sql<string>`' ' || l.gate || ' '`;

/** Leases due lanes, the least recently served first. Skips lanes that another process is claiming. */
export async function claimLanes(
  tx: Transactor,
  claim: LeaseTimes & {
    leaseMs: number;
    gates: string[];
    ours: string[];
    kinds: string[];
    count: number;
    owner: string;
  },
): Promise<Lane[]> {
  const { now, leaseMs, gates, ours, kinds, count, owner } = claim;
  const due = await tx
    .selectFrom("job_lanes as l")
    .select("l.lane")
    .where(canBeClaimed(claim, kinds))
    .$call((lanes) => gates.reduce((others, gate) => others.where(gatesOfLane, "not like", `% ${gate} %`), lanes))
    .$if(ours.length > 0, (lanes) => lanes.where("l.lane", "not in", ours))
    .orderBy("l.leased_until")
    .limit(count)
    .$if(tx.kind === "postgres", (lanes) => lanes.forUpdate().skipLocked())
    .execute();
  if (due.length === 0) return [];
  return tx
    .updateTable("job_lanes")
    .set({ leased_until: now + leaseMs, owner })
    .where(
      "lane",
      "in",
      due.map(({ lane }) => lane),
    )
    .returning(["lane", "gate"])
    .execute();
}

/** Ends the lease of a lane at another time, if this process has it; returns no row if it does not. */
export const renewLease = preparedWrite<{ lane: string; owner: string; until: number }>()(
  (db, { lane, owner, until }) =>
    db
      .updateTable("job_lanes")
      .set({ leased_until: until })
      .where("lane", "=", lane)
      .where("owner", "=", owner)
      .returning("lane"),
);

export const deleteJob = preparedWrite<{ id: string; readAt: number }>()((db, { id, readAt }) =>
  db.deleteFrom("jobs").where("id", "=", id).where("updated_at", "=", readAt).returning("id"),
);

export const updateJob = preparedWrite<{
  id: string;
  readAt: number;
  state: "waiting" | "dead";
  runAt: number;
  attempts: number;
  lastError: string | null;
  now: number;
}>()((db, row) =>
  db
    .updateTable("jobs")
    .set({
      state: row.state,
      run_at: row.runAt,
      attempts: row.attempts,
      last_error: row.lastError,
      updated_at: row.now,
    })
    .where("id", "=", row.id)
    .where("updated_at", "=", row.readAt)
    .returning("id"),
);

export const updatePayload = preparedWrite<{ id: string; readAt: number; payload: string }>()(
  (db, { id, readAt, payload }) =>
    db.updateTable("jobs").set({ payload }).where("id", "=", id).where("updated_at", "=", readAt).returning("id"),
);
