import { Gauge, type Registry } from "prom-client";
import { countFailingEndpoints } from "../../capabilities/webhooks/failing.ts";
import { DELIVER_WEBHOOK } from "../../capabilities/webhooks/index.ts";
import { countLanes, type LanesOfKind } from "../../engine/jobs/lanes.ts";
import type { Clock } from "../../kernel/clock.ts";
import { MAX_COUNTED_ENDPOINTS, MAX_COUNTED_JOBS } from "../../kernel/limits.ts";
import type { Reader } from "../../storage/engine.ts";
import { inTime } from "../in-time.ts";
import { gauge } from "./metrics.ts";

const STATES = ["waiting", "dead"] as const;

interface Counted {
  kind: string;
  state: (typeof STATES)[number];
  count: number;
}

/** The numbers of waiting and dead jobs; omitted if the database does not answer in time. */
export function measureJobs(registry: Registry, read: Reader, clock: Clock): void {
  // One query provides all values of a scrape.
  const look = inTime(async () => (await Promise.all(STATES.map((state) => countIn(read, state)))).flat());
  new Gauge({
    name: "keystead_jobs",
    help: `Jobs by kind and state, counted up to ${MAX_COUNTED_JOBS} of a state; missing while the database does not answer.`,
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
  gauge(registry, "job_oldest_due_seconds", "How long the most overdue job has been due.", async () => {
    const found = await first();
    return found && Math.max(0, clock() - (found.runAt ?? clock())) / 1000;
  });
  const backlog = `Deliveries of webhooks that are to be made, counted up to ${MAX_COUNTED_JOBS} jobs.`;
  gauge(registry, "webhook_backlog", backlog, async () => {
    const jobs = await waiting();
    return jobs && (jobs.find(({ kind }) => kind === DELIVER_WEBHOOK)?.count ?? 0);
  });
  measureLanes(registry, read, clock);
  measureEndpoints(registry, read, clock);
}

/** Metrics by kind, because there may be millions of lanes, whose names contain endpoints and organizations. `keystead jobs lanes` lists them. */
function measureLanes(registry: Registry, read: Reader, clock: Clock): void {
  const look = inTime(() => countLanes(read));
  const byKind = (name: string, help: string, value: (lanes: LanesOfKind) => number) =>
    new Gauge({
      name: `keystead_${name}`,
      help,
      labelNames: ["kind"],
      registers: [registry],
      async collect() {
        const found = await look();
        this.reset();
        for (const lanes of found ?? []) this.set({ kind: lanes.kind }, value(lanes));
      },
    });
  byKind("job_lanes", "Lanes in which jobs of a kind wait.", ({ lanes }) => lanes);
  byKind("job_lane_depth", "Jobs of a kind that wait in the fullest of their lanes.", ({ fullest }) => fullest);
  byKind(
    "job_due_seconds",
    "How long the most overdue job of a kind has been due.",
    ({ firstDue }) => Math.max(0, clock() - firstDue) / 1000,
  );
}

/** Only their number, because an endpoint's name would identify its organization. `keystead webhooks failing` lists them. */
function measureEndpoints(registry: Registry, read: Reader, clock: Clock): void {
  const look = inTime(() => countFailingEndpoints(read));
  const failing = `Active webhook endpoints whose last delivery failed, counted up to ${MAX_COUNTED_ENDPOINTS}.`;
  gauge(registry, "webhook_endpoints_failing", failing, async () => (await look())?.count);
  const since = "How long the webhook endpoint that has failed the longest has accepted nothing.";
  gauge(registry, "webhook_endpoint_failing_seconds", since, async () => {
    const found = await look();
    return found && (found.since === null ? 0 : Math.max(0, clock() - found.since) / 1000);
  });
}

const countIn = (read: Reader, state: Counted["state"]): Promise<Counted[]> =>
  read.all<Counted>({
    sql: `select kind, '${state}' as state, count(*) as count
      from (select kind from jobs where state = '${state}' limit ${MAX_COUNTED_JOBS}) as counted group by kind`,
    parameters: [],
  });

/** When the first of all waiting jobs is or was due, in milliseconds; undefined if none waits. */
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
