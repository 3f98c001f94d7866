import { MAX_COUNTED_JOBS } from "../../kernel/limits.ts";
import type { Reader } from "../../storage/engine.ts";

/** The backlog of the lanes, for operators. Counts up to MAX_COUNTED_JOBS jobs, those due first. */

/** The lanes of one kind of job. A lane with several kinds counts for each. */
export interface LanesOfKind {
  kind: string;
  /** Waiting jobs. */
  waiting: number;
  /** When the first of them is due, in milliseconds; may be in the past. */
  firstDue: number;
  lanes: number;
  /** Waiting jobs in the fullest lane. */
  fullest: number;
}

const COUNTED = `(select kind, lane, run_at from jobs where state = 'waiting' order by run_at limit ${MAX_COUNTED_JOBS}) as counted`;

export const countLanes = (read: Reader): Promise<LanesOfKind[]> =>
  read.all<LanesOfKind>({
    sql: `select kind, cast(sum(waiting) as bigint) as waiting, min(first_due) as "firstDue", count(*) as lanes, max(waiting) as fullest
      from (select kind, lane, count(*) as waiting, min(run_at) as first_due from ${COUNTED} group by kind, lane) as lanes
      group by kind`,
    parameters: [],
  });

export interface ShownLane {
  lane: string;
  /** What its jobs depend on, such as a host. */
  gate: string;
  organizationId: string | null;
  waiting: number;
  /** How many of them are due now. */
  due: number;
  /** When the first of them is due, in RFC 3339; may be in the past. */
  firstDue: string;
  /** When the lease of the server that runs it ends; null if none does. */
  leasedUntil: string | null;
}

interface LaneRow {
  lane: string;
  gate: string;
  organization_id: string | null;
  waiting: number;
  due: number;
  first_due: number;
  leased_until: number;
}

/** The fullest lanes. */
export async function listLanes(read: Reader, limit: number, now: number): Promise<ShownLane[]> {
  const rows = await read.all<LaneRow>({
    sql: `select f.*, l.gate, l.leased_until,
        (select j.organization_id from jobs as j where j.lane = f.lane and j.state = 'waiting' order by j.run_at limit 1) as organization_id
      from (select lane, count(*) as waiting, min(run_at) as first_due, cast(sum(case when run_at <= ${now} then 1 else 0 end) as bigint) as due
        from ${COUNTED} group by lane order by 2 desc, lane limit ${limit}) as f
      join job_lanes as l on l.lane = f.lane
      order by f.waiting desc, f.lane`,
    parameters: [],
  });
  return rows.map((row) => ({
    lane: row.lane,
    gate: row.gate,
    organizationId: row.organization_id,
    waiting: row.waiting,
    due: row.due,
    firstDue: new Date(row.first_due).toISOString(),
    leasedUntil: row.leased_until > now ? new Date(row.leased_until).toISOString() : null,
  }));
}
