import { Gauge, type Registry } from "prom-client";
import { DELIVER_WEBHOOK } from "../../capabilities/webhooks/index.ts";
import type { Clock } from "../../kernel/clock.ts";
import { MAX_COUNTED_JOBS } from "../../kernel/limits.ts";
import type { Reader } from "../../storage/engine.ts";
import { inTime } from "../in-time.ts";
import { gauge } from "./metrics.ts";

const STATES = ["waiting", "dead"] as const;

interface Counted {
  kind: string;
  state: (typeof STATES)[number];
  count: number;
}

/** How many jobs wait and how many were given up; left out while the database does not tell in time. */
export function measureJobs(registry: Registry, read: Reader, clock: Clock): void {
  // All figures of one scrape come from one look.
  const look = inTime(async () => (await Promise.all(STATES.map((state) => countIn(read, state)))).flat());
  new Gauge({
    name: "keystead_jobs",
    help: `Jobs by kind and state, counted up to ${MAX_COUNTED_JOBS} of a state; missing while the database does not tell.`,
    labelNames: ["kind", "state"],
    registers: [registry],
    async collect() {
      const counted = await look();
      this.reset();
      for (const { kind, state, count } of counted ?? []) this.set({ kind, state }, count);
    },
  });
  const waiting = async () => (await look())?.filter(({ state }) => state === "waiting");
  const first = inTime(() => firstDue(read));
  gauge(registry, "job_oldest_due_seconds", "For how long the job that waits longest has been due.", async () => {
    const found = await first();
    return found && Math.max(0, clock() - (found.runAt ?? clock())) / 1000;
  });
  const backlog = `Deliveries of webhooks that are to be made, counted up to ${MAX_COUNTED_JOBS} jobs.`;
  gauge(registry, "webhook_backlog", backlog, async () => {
    const jobs = await waiting();
    return jobs && (jobs.find(({ kind }) => kind === DELIVER_WEBHOOK)?.count ?? 0);
  });
}

const countIn = (read: Reader, state: Counted["state"]): Promise<Counted[]> =>
  read.all<Counted>({
    sql: `select kind, '${state}' as state, count(*) as count
      from (select kind from jobs where state = '${state}' limit ${MAX_COUNTED_JOBS}) as counted group by kind`,
    parameters: [],
  });

/** When the first of all waiting jobs is or was due, in milliseconds; undefined where none waits. */
async function firstDue(read: Reader): Promise<{ runAt: number | undefined }> {
  const first = await read
    .selectFrom("jobs")
    .select("run_at")
    .where("state", "=", "waiting")
    .orderBy("run_at")
    .limit(1)
    .executeTakeFirst();
  return { runAt: first?.run_at };
}
