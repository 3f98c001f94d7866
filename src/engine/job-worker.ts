import { newId } from "../kernel/ids.ts";
import type { Transactor } from "../storage/engine.ts";
import { prepared, preparedWrite } from "../storage/prepared.ts";
import { backOffMs, enqueue, type JobKind, type JobResult, type JobServices } from "./jobs.ts";

export interface JobWorkerOptions {
  services: JobServices;
  kinds: readonly JobKind[];
  /** How often to look for work that nobody announced. */
  pollMs?: number;
  /** Lanes at work at once in this process ... */
  maxLanes?: number;
  /** ... and of them, those that wait for the same thing. */
  maxLanesPerGate?: number;
}

const POLL_MS = 500;
const MAX_LANES = 256;
const MAX_LANES_PER_GATE = 8;
const CLAIM_AT_ONCE = 32;
/** A process that died gives its lanes back after this long; a living one renews its lease with each job. */
const LEASE_MS = 60_000;
/** A lane is handed back now and then, so that busy ones do not starve the others. */
const MAX_JOBS_PER_LEASE = 100;
const JOBS_AT_ONCE = 20;

interface Lane {
  lane: string;
  gate: string;
}

/**
 * Runs jobs. A lane is leased as a whole, by one process at a time; its jobs run one after the other, in the order of their
 * time. Any number of processes on one database share the lanes without doubling the work.
 */
export class JobWorker {
  readonly #options: Required<JobWorkerOptions>;
  readonly #kinds: Map<string, JobKind>;
  readonly #owner = newId();
  readonly #active = new Map<string, Lane>();
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;
  #lookAgain = false;
  #stopping = false;
  #lanesDone: (() => void) | undefined;

  constructor(options: JobWorkerOptions) {
    this.#options = {
      pollMs: POLL_MS,
      maxLanes: MAX_LANES,
      maxLanesPerGate: MAX_LANES_PER_GATE,
      ...options,
    };
    this.#kinds = new Map(options.kinds.map((kind) => [kind.name, kind]));
  }

  /** Makes sure that every reconciler has its job, and begins. */
  async start(): Promise<void> {
    const { database, clock } = this.#options.services;
    const reconcilers = this.#options.kinds.filter(({ everyMs }) => everyMs !== undefined);
    await database.transact("jobs", async (tx) => {
      for (const kind of reconcilers) await ensureReconciler(tx, kind, clock());
    });
    this.wake();
  }

  /** Looks for work now. Called after a commit that made some; a call too many costs one read. */
  wake(): void {
    if (this.#stopping) return;
    if (this.#looking) {
      this.#lookAgain = true;
      return;
    }
    clearTimeout(this.#timer);
    this.#looking = this.#look().finally(() => {
      this.#looking = undefined;
      if (this.#stopping) return;
      if (this.#lookAgain) {
        this.#lookAgain = false;
        this.wake();
        return;
      }
      this.#timer = setTimeout(() => this.wake(), this.#options.pollMs);
    });
  }

  /** Takes no further jobs and resolves when the running ones have ended; what they could not finish stays for others. */
  async stop(): Promise<void> {
    this.#stopping = true;
    clearTimeout(this.#timer);
    await this.#looking;
    if (this.#active.size > 0) {
      await new Promise<void>((resolve) => {
        this.#lanesDone = resolve;
      });
    }
  }

  async #look(): Promise<void> {
    const { services, maxLanes } = this.#options;
    try {
      for (;;) {
        const free = Math.min(maxLanes - this.#active.size, CLAIM_AT_ONCE);
        if (free <= 0 || this.#stopping) return;
        const claimed = await this.#claim(free);
        for (const lane of claimed) void this.#runLane(lane);
        if (claimed.length === 0) return;
      }
    } catch (error) {
      services.log.warn({ reason: (error as Error).message }, "looking for jobs failed");
    }
  }

  async #claim(count: number): Promise<Lane[]> {
    const { database, clock } = this.#options.services;
    const now = clock();
    const gates = this.#fullGates();
    // Asked without a write first: most of the time nothing is due.
    if (gates.length === 0 && (await selectDueLane(database.read, { now })).length === 0) return [];
    const lanes = await database.transact(undefined, (tx) => claimLanes(tx, { now, gates, count, owner: this.#owner }));
    return this.#withinGates(lanes);
  }

  #fullGates(): string[] {
    const counts = new Map<string, number>();
    for (const { gate } of this.#active.values()) counts.set(gate, (counts.get(gate) ?? 0) + 1);
    return [...counts].filter(([, count]) => count >= this.#options.maxLanesPerGate).map(([gate]) => gate);
  }

  /** Of lanes claimed together, those that fit their gates; the others are given back at once. */
  #withinGates(lanes: Lane[]): Lane[] {
    const fitting: Lane[] = [];
    for (const lane of lanes) {
      if (this.#fullGates().includes(lane.gate)) {
        void this.#release(lane);
      } else {
        this.#active.set(lane.lane, lane);
        fitting.push(lane);
      }
    }
    return fitting;
  }

  async #runLane(lane: Lane): Promise<void> {
    const { log } = this.#options.services;
    try {
      let remaining = MAX_JOBS_PER_LEASE;
      while (remaining > 0 && !this.#stopping) {
        const ran = await this.#runDueJobs(lane, Math.min(JOBS_AT_ONCE, remaining));
        if (ran === 0) break;
        remaining -= ran;
      }
    } catch (error) {
      log.error({ lane: lane.lane, reason: (error as Error).message }, "a lane of jobs was interrupted");
    }
    await this.#release(lane);
    this.#active.delete(lane.lane);
    if (this.#active.size === 0) this.#lanesDone?.();
    this.wake();
  }

  async #runDueJobs({ lane }: Lane, count: number): Promise<number> {
    const { database, clock } = this.#options.services;
    const jobs = await selectDueJobs(database.read, { lane, now: clock() });
    let ran = 0;
    for (const row of jobs.slice(0, count)) {
      if (this.#stopping) break;
      const result = await this.#runJob(row);
      // A stopping server cuts its requests off; that is no fault of the job's.
      if (this.#stopping && result.next.do !== "finish") break;
      if (!(await this.#record(row, result))) throw new Error("the lease was lost to another process");
      ran++;
    }
    return ran;
  }

  async #runJob(row: JobRow): Promise<JobResult> {
    const { services } = this.#options;
    const kind = this.#kinds.get(row.kind);
    // A newer release may have left it; this one lets it be.
    if (!kind) return { next: { do: "retry", inMs: backOffMs(10) }, reason: `unknown kind of job ${row.kind}` };
    try {
      const payload = JSON.parse(row.payload) as never;
      return await kind.run({ ...services, payload, attempts: row.attempts });
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      services.log.warn({ job: row.id, kind: row.kind, attempts: row.attempts + 1, reason }, "a job failed");
      if (row.attempts + 1 >= kind.maxAttempts) return { next: { do: "die" }, reason };
      return { next: { do: "retry", inMs: backOffMs(row.attempts) }, reason };
    }
  }

  /** Stores how a job ended, if the lane is still ours; false if it is not. */
  async #record(row: JobRow, { next, reason, record }: JobResult): Promise<boolean> {
    const { database, clock } = this.#options.services;
    const owner = this.#owner;
    return database.transact(row.organization_id ?? undefined, async (tx) => {
      const now = clock();
      const renewed = await renewLease(tx, { lane: row.lane, owner, until: now + LEASE_MS });
      if (renewed.length === 0) return false;
      await record?.(tx);
      const isPeriodic = this.#kinds.get(row.kind)?.everyMs !== undefined;
      if (next.do === "finish") {
        await deleteJob(tx, { id: row.id });
      } else {
        const runAt = next.do === "retry" ? now + next.inMs : row.run_at;
        const state = next.do === "die" ? "dead" : "waiting";
        const attempts = isPeriodic && reason === undefined ? 0 : row.attempts + 1;
        await updateJob(tx, { id: row.id, state, runAt, attempts, lastError: reason ?? null, now });
      }
      return true;
    });
  }

  async #release({ lane }: Lane): Promise<void> {
    const { database, log, clock } = this.#options.services;
    const owner = this.#owner;
    await database
      .transact(undefined, (tx) => renewLease(tx, { lane, owner, until: clock() }))
      // Then it is free when the lease ends.
      .catch((error: Error) => log.warn({ lane, reason: error.message }, "a lane could not be given back"));
  }
}

async function ensureReconciler(tx: Transactor, kind: JobKind, now: number): Promise<void> {
  const key = `reconciler:${kind.name}`;
  const known = await tx.selectFrom("jobs").select("id").where("key", "=", key).executeTakeFirst();
  if (known) return;
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

type JobRow = Awaited<ReturnType<typeof selectDueJobs>>[number];

const selectDueLane = prepared<{ now: number }>()((db, { now }) =>
  db
    .selectFrom("job_lanes as l")
    .select("l.lane")
    .where("l.leased_until", "<=", now)
    .where((where) =>
      where.exists(
        where
          .selectFrom("jobs as j")
          .select("j.id")
          .whereRef("j.lane", "=", "l.lane")
          .where("j.state", "=", "waiting")
          .where("j.run_at", "<=", now),
      ),
    )
    .limit(1),
);

const selectDueJobs = prepared<{ lane: string; now: number }>()((db, { lane, now }) =>
  db
    .selectFrom("jobs")
    .selectAll()
    .where("lane", "=", lane)
    .where("state", "=", "waiting")
    .where("run_at", "<=", now)
    .orderBy("run_at")
    .orderBy("id")
    .limit(JOBS_AT_ONCE),
);

/** Leases due lanes, those served longest ago first; a lane that another process is just claiming is passed over. */
async function claimLanes(
  tx: Transactor,
  { now, gates, count, owner }: { now: number; gates: string[]; count: number; owner: string },
): Promise<Lane[]> {
  const due = await tx
    .selectFrom("job_lanes as l")
    .select("l.lane")
    .where("l.leased_until", "<=", now)
    .$if(gates.length > 0, (lanes) => lanes.where("l.gate", "not in", gates))
    .where((where) =>
      where.exists(
        where
          .selectFrom("jobs as j")
          .select("j.id")
          .whereRef("j.lane", "=", "l.lane")
          .where("j.state", "=", "waiting")
          .where("j.run_at", "<=", now),
      ),
    )
    .orderBy("l.leased_until")
    .limit(count)
    .$if(tx.engine === "postgres", (lanes) => lanes.forUpdate().skipLocked())
    .execute();
  if (due.length === 0) return [];
  return tx
    .updateTable("job_lanes")
    .set({ leased_until: now + LEASE_MS, owner })
    .where(
      "lane",
      "in",
      due.map(({ lane }) => lane),
    )
    .returning(["lane", "gate"])
    .execute();
}

const renewLease = preparedWrite<{ lane: string; owner: string; until: number }>()((db, { lane, owner, until }) =>
  db
    .updateTable("job_lanes")
    .set({ leased_until: until })
    .where("lane", "=", lane)
    .where("owner", "=", owner)
    .returning("lane"),
);

const deleteJob = preparedWrite<{ id: string }>()((db, { id }) =>
  db.deleteFrom("jobs").where("id", "=", id).returning("id"),
);

const updateJob = preparedWrite<{
  id: string;
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
    .returning("id"),
);
