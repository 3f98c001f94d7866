import { backOffMs } from "../../kernel/back-off.ts";
import { MINUTE_MS } from "../../kernel/durations.ts";
import { newId } from "../../kernel/ids.ts";
import { JOB_STOP_DEADLINE_MS, MAX_CONNECTIONS, MAX_CONNECTIONS_PER_HOST } from "../../kernel/limits.ts";
import { NowAndThen } from "../../kernel/now-and-then.ts";
import { outsideSpans, type Tracer } from "../../kernel/spans.ts";
import type { Signer } from "../../signer/client.ts";
import { type Services, servicesFor, signerFor } from "../services.ts";
import { areAmong, fullGates } from "./gates.ts";
import { JOB_BACK_OFF, type JobKind, type JobResult, type JobSurroundings, onNewJobs, traceOf } from "./jobs.ts";
import { leaseTimesAt } from "./leases.ts";
import {
  CLOCK_MOVES_MS,
  claimLanes,
  deleteJob,
  ensureReconciler,
  type JobRow,
  type Lane,
  putForward,
  renewLease,
  selectionsOf,
  updateJob,
  updatePayload,
} from "./queue.ts";
import { openJobSecret, type SealedSecret } from "./sealed-secrets.ts";

export interface JobWorkerOptions {
  surroundings: JobSurroundings;
  services: Services;
  signer: Pick<Signer, "ask">;
  kinds: readonly JobKind[];
  /** Called with the outcome of each run of a job; must not throw. */
  onRun?: (kind: string, outcome: RunOutcome) => void;
  /** Without it nothing is traced. */
  tracer?: Tracer | undefined;
  /** How often to poll for work that was not announced. */
  pollMs?: number;
  /** The most lanes that this process runs at a time. */
  maxLanes?: number;
  /** The most of them that share a gate, unless the gate says otherwise. */
  maxLanesPerGate?: number;
  /** How long a lease on a lane lasts. It is renewed with each job; if the process dies, the lane is free after this time. */
  leaseMs?: number;
  /** How often the lease is renewed while a job runs, until the job counts as hung. Default: a third of the lease. */
  renewMs?: number;
  /** How long `stop` waits for running jobs. */
  stopDeadlineMs?: number;
  /** Whether no other process uses the database, so that leases found at the start belong to a process that ended. Default: false. */
  isAlone?: boolean;
}

/** Done; paused because what it depends on is unavailable; or failed, and then retried or given up. */
export type RunOutcome = "done" | "paused" | "retried" | "given_up";

const POLL_MS = 500;
const CLAIM_AT_ONCE = 32;
const LEASE_MS = 15_000;
const LONGEST_RUN_MS = 5 * MINUTE_MS;
const HUNG = "a job is taken for hung: it runs again on another server, where there is one, and here after a restart";
/** A lane is released after this many jobs or milliseconds, so that busy and slow lanes do not starve the others. */
const MAX_JOBS_PER_LEASE = 100;
const LEASE_TURN_MS = 1000;
/** Retries due within this many milliseconds of each other share one timer, which bounds the number of timers between two polls. */
const SOONER_STEP_MS = 10;
/** How long a lane pauses after a failure that is not the job's own. */
const INTERRUPTION_PAUSE_MS = 2000;

/** A lane that this process is running. */
interface ActiveLane extends Lane {
  /** Milliseconds. */
  runningSince: number;
  /** The running job. */
  job?: Pick<JobRow, "id" | "kind">;
  /** The job that was logged as hung. */
  loggedAsHung?: ActiveLane["job"];
}

/**
 * Runs jobs. A process leases a whole lane and runs its jobs one at a time, in the order of their time. Any number of processes on one
 * database share the lanes, and no job runs twice at the same time.
 */
export class JobWorker {
  readonly #options: Required<Omit<JobWorkerOptions, "tracer">> & Pick<JobWorkerOptions, "tracer">;
  readonly #kinds: Map<string, JobKind>;
  readonly #owner = newId();
  readonly #select: ReturnType<typeof selectionsOf>;
  readonly #active = new Map<string, ActiveLane>();
  #timer: NodeJS.Timeout | undefined;
  /** Timers for retries that are due before the next poll, by step. */
  readonly #sooner = new Map<number, NodeJS.Timeout>();
  #renewal: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;
  #lookAgain = false;
  #stopping = false;
  #stopListening = () => {};
  readonly #running = new Set<Promise<void>>();
  /** When it last looked for work, to notice that the clock was set back. */
  #lookedAt = Number.POSITIVE_INFINITY;
  readonly #failures = new NowAndThen();

  constructor(options: JobWorkerOptions) {
    const { leaseMs = LEASE_MS } = options;
    this.#options = {
      leaseMs,
      pollMs: POLL_MS,
      // As many as there are outbound connections, so that a running job does not wait for one.
      maxLanes: MAX_CONNECTIONS,
      maxLanesPerGate: MAX_CONNECTIONS_PER_HOST,
      renewMs: leaseMs / 3,
      stopDeadlineMs: JOB_STOP_DEADLINE_MS,
      isAlone: false,
      onRun: () => {},
      ...options,
    };
    this.#kinds = new Map(options.kinds.map((kind) => [kind.name, kind]));
    this.#select = selectionsOf([...this.#kinds.keys()]);
  }

  /** Ensures that every reconciler has its job, and starts. */
  async start(): Promise<void> {
    const { surroundings, isAlone } = this.#options;
    const { database, clock } = surroundings;
    const reconcilers = this.#options.kinds.filter(({ everyMs }) => everyMs !== undefined);
    this.#stopListening = onNewJobs(database, () => this.wake());
    await database.transact("jobs", async (tx) => {
      if (isAlone) await tx.updateTable("job_lanes").set({ leased_until: 0 }).where("leased_until", ">", 0).execute();
      for (const kind of reconcilers) await ensureReconciler(tx, kind, clock());
    });
    this.#renewal = setInterval(() => void this.#renew(), this.#options.renewMs);
    this.wake();
  }

  /** Looks for work now; a call too many costs one read. */
  wake(): void {
    if (this.#stopping) return;
    if (this.#looking) {
      this.#lookAgain = true;
      return;
    }
    clearTimeout(this.#timer);
    // The work must not become part of the trace of whoever announced it.
    this.#looking = outsideSpans(() => this.#look()).finally(() => {
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

  /** Sets a timer for a retry that is due before the next poll, because this process knows of it. */
  #lookIn(ms: number): void {
    if (this.#stopping || ms >= this.#options.pollMs) return;
    const now = performance.now();
    // One millisecond more, because timers may fire a fraction of a millisecond early.
    const step = Math.ceil((now + ms + 1) / SOONER_STEP_MS);
    if (this.#sooner.has(step)) return;
    const look = () => {
      this.#sooner.delete(step);
      this.wake();
    };
    this.#sooner.set(step, setTimeout(look, step * SOONER_STEP_MS - now));
  }

  /** Takes no further jobs, and resolves when the running ones have ended or at a deadline. Unfinished jobs are left for other processes. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#stopListening();
    clearTimeout(this.#timer);
    for (const timer of this.#sooner.values()) clearTimeout(timer);
    const { surroundings, stopDeadlineMs } = this.#options;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(() => {
        surroundings.log.warn({ lanes: [...this.#active.keys()] }, "jobs were still running at the deadline");
        resolve();
      }, stopDeadlineMs);
    });
    await Promise.race([this.#ended(), late]);
    clearTimeout(timer);
    clearInterval(this.#renewal);
  }

  async #ended(): Promise<void> {
    await this.#looking;
    await Promise.all(this.#running);
  }

  async #look(): Promise<void> {
    const { surroundings, maxLanes } = this.#options;
    try {
      await this.#putRight();
      for (;;) {
        const free = Math.min(maxLanes - this.#active.size, CLAIM_AT_ONCE);
        if (free <= 0 || this.#stopping) return;
        const claimed = await this.#claim(free);
        for (const lane of claimed) {
          const run = this.#runLane(lane);
          this.#running.add(run);
          void run.then(() => this.#running.delete(run));
        }
        this.#failures.isOver("look");
        if (claimed.length === 0) return;
      }
    } catch (error) {
      const reason = messageOf(error);
      const { log } = surroundings;
      this.#failures.note("look", (since) => log.warn({ reason, ...since }, "looking for jobs failed"));
    }
  }

  /** After the clock was set back, and before the first look. */
  async #putRight(): Promise<void> {
    const { database, clock, log } = this.#options.surroundings;
    const now = clock();
    if (this.#lookedAt <= now + CLOCK_MOVES_MS) {
      this.#lookedAt = now;
      return;
    }
    const jobs = await database.transact("jobs", (tx) => putForward(tx, now));
    if (jobs > 0)
      log.warn({ jobs }, "jobs were postponed because the clock was set back: their delay starts again now");
    this.#lookedAt = now;
  }

  async #claim(count: number): Promise<ActiveLane[]> {
    const { database, clock } = this.#options.surroundings;
    const now = clock();
    const gates = this.#fullGates();
    // A read before the write: most of the time nothing is due.
    const times = leaseTimesAt(now);
    if (gates.length === 0 && (await this.#select.dueLane(database.read, times)).length === 0) return [];
    const owner = this.#owner;
    const kinds = [...this.#kinds.keys()];
    // Lanes that this process still runs are excluded: if their lease ran out under a long job, only another process may take them.
    const ours = [...this.#active.keys()];
    const { leaseMs } = this.#options;
    const claim = { ...times, leaseMs, gates, ours, kinds, count, owner };
    const lanes = await database.transact(undefined, (tx) => claimLanes(tx, claim));
    return this.#withinGates(lanes);
  }

  #fullGates(): string[] {
    return fullGates(this.#active.values(), this.#options.maxLanesPerGate);
  }

  /** The claimed lanes for which their gates have room; the others are released immediately. */
  #withinGates(lanes: Lane[]): ActiveLane[] {
    const fitting: ActiveLane[] = [];
    const runningSince = this.#options.surroundings.clock();
    for (const claimed of lanes) {
      if (areAmong(claimed.gate, this.#fullGates())) {
        void this.#release(claimed, 0);
      } else {
        const lane = { ...claimed, runningSince };
        this.#active.set(lane.lane, lane);
        fitting.push(lane);
      }
    }
    return fitting;
  }

  async #runLane(lane: ActiveLane): Promise<void> {
    const { log } = this.#options.surroundings;
    let pauseMs = 0;
    try {
      pauseMs = await this.#runDueJobs(lane);
    } catch (error) {
      log.error({ lane: lane.lane, reason: messageOf(error) }, "a lane of jobs was interrupted");
      pauseMs = INTERRUPTION_PAUSE_MS;
    }
    await this.#release(lane, this.#stopping ? 0 : pauseMs);
    this.#active.delete(lane.lane);
    this.wake();
  }

  /** Runs a bounded number of the lane's due jobs; resolves to how long the lane must pause, in milliseconds. */
  async #runDueJobs(active: ActiveLane): Promise<number> {
    const { database, clock } = this.#options.surroundings;
    const { lane, gate } = active;
    let remaining = MAX_JOBS_PER_LEASE;
    const latest = performance.now() + LEASE_TURN_MS;
    while (remaining > 0) {
      const jobs = await this.#select.dueJobs(database.read, { lane, gate, now: clock() });
      if (jobs.length === 0) return 0;
      for (const row of jobs.slice(0, remaining)) {
        if (this.#stopping) return 0;
        active.runningSince = clock();
        active.job = row;
        const result = await this.#runTraced(row);
        this.#options.onRun(row.kind, outcomeOf(result));
        // A stopping server aborts its outbound requests; the job is not at fault.
        if (this.#stopping && result.next.do !== "finish") return 0;
        if (result.next.do === "pause") return result.next.inMs;
        await this.#record(row, result);
        if (result.next.do === "retry") this.#lookIn(result.next.inMs);
        remaining--;
        if (performance.now() >= latest) return 0;
      }
    }
    return 0;
  }

  /** Continues the trace of the request that queued the job. */
  async #runTraced(row: JobRow): Promise<JobResult> {
    const { tracer } = this.#options;
    if (!tracer) return this.#runJob(row);
    const span = tracer.work(`job ${row.kind}`, traceparentOf(row));
    if (!span) return this.#runJob(row);
    const result = await span.run(() => this.#runJob(row));
    span.note({
      "keystead.job_kind": row.kind,
      "keystead.job_id": row.id,
      "keystead.attempt": row.attempts + 1,
      "keystead.outcome": outcomeOf(result),
      ...(row.organization_id === null ? {} : { "keystead.organization_id": row.organization_id }),
    });
    if (outcomeOf(result) !== "done") span.failed();
    span.end();
    return result;
  }

  async #runJob(row: JobRow): Promise<JobResult> {
    const { surroundings, services, signer } = this.#options;
    const kind = this.#kinds.get(row.kind) as JobKind;
    const given = { ...servicesFor(services, kind.needs), signer: signerFor(signer, kind.asks, kind.name) };
    try {
      const { payload } = traceOf(JSON.parse(row.payload));
      const secret = await this.#openSecret(row);
      const keep = (kept: unknown) => this.#keep(row, kept);
      return await kind.run({ ...surroundings, ...given, payload, secret, attempts: row.attempts, keep });
    } catch (error) {
      return this.#failed(row, error);
    }
  }

  async #keep(row: JobRow, payload: unknown): Promise<void> {
    const { database, clock } = this.#options.surroundings;
    const { id, lane, updated_at: readAt } = row;
    const owner = this.#owner;
    const { traceparent } = traceOf(JSON.parse(row.payload));
    const stored = JSON.stringify({ ...(payload as object), ...(traceparent === undefined ? {} : { traceparent }) });
    const isOurs = await database.transact(undefined, async (tx) => {
      const renewed = await renewLease(tx, { lane, owner, until: clock() + this.#options.leaseMs });
      return renewed.length > 0 && (await updatePayload(tx, { id, readAt, payload: stored })).length > 0;
    });
    if (!isOurs) throw new Error("the job is not ours any more");
  }

  async #openSecret({ kind, sealed_secret: sealed }: JobRow): Promise<unknown> {
    if (sealed === null) return undefined;
    const { surroundings, signer } = this.#options;
    return openJobSecret({ read: surroundings.database.read, signer }, kind, JSON.parse(sealed) as SealedSecret);
  }

  #failed(row: JobRow, error: unknown): JobResult {
    const { log } = this.#options.surroundings;
    const { id, kind, attempts } = row;
    const reason = messageOf(error);
    log.warn({ job: id, kind, attempts: attempts + 1, reason }, "a job failed");
    const { maxAttempts } = this.#kinds.get(kind) as JobKind;
    if (attempts + 1 >= maxAttempts) return { next: { do: "die" }, reason };
    return { next: { do: "retry", inMs: backOffMs(JOB_BACK_OFF, attempts) }, reason };
  }

  /** @throws Error if this process lost the lane, or nothing can be stored at all */
  async #record(row: JobRow, result: JobResult): Promise<void> {
    const isOurs = await this.#store(row, result).catch((error: unknown) => {
      if (result.record === undefined) throw error;
      // Without `record`: a run whose outcome cannot be recorded has failed, and must not be repeated immediately.
      return this.#store(row, this.#failed(row, error));
    });
    if (!isOurs) throw new Error("the lease was lost to another process");
  }

  /** Stores the outcome of a job if this process still has the lane; false if it does not. */
  async #store(row: JobRow, { next, reason, record }: JobResult): Promise<boolean> {
    const { database, clock } = this.#options.surroundings;
    const owner = this.#owner;
    const kind = this.#kinds.get(row.kind) as JobKind;
    const scope = kind.concurrent ? undefined : (row.organization_id ?? undefined);
    return database.transact(scope, async (tx) => {
      const now = clock();
      const renewed = await renewLease(tx, { lane: row.lane, owner, until: now + this.#options.leaseMs });
      if (renewed.length === 0) return false;
      await record?.(tx);
      // A job that was queued again meanwhile is not changed, and runs again.
      const job = { id: row.id, readAt: row.updated_at };
      if (next.do === "finish") {
        await deleteJob(tx, job);
      } else {
        // Whole milliseconds: a pause may be a fraction of an age.
        const runAt = next.do === "retry" ? Math.ceil(now + next.inMs) : row.run_at;
        const state = next.do === "die" ? "dead" : "waiting";
        const attempts = kind.everyMs !== undefined && reason === undefined ? 0 : row.attempts + 1;
        await updateJob(tx, { ...job, state, runAt, attempts, lastError: reason ?? null, now });
      }
      return true;
    });
  }

  /** Renews the leases of lanes whose job takes long. Other leases are renewed with the outcome of their job. */
  async #renew(): Promise<void> {
    const { surroundings, renewMs, leaseMs } = this.#options;
    const { database, log, clock } = surroundings;
    const now = clock();
    const long = [...this.#active.values()].filter((active) => {
      const ranMs = now - active.runningSince;
      if (ranMs >= LONGEST_RUN_MS) this.#tellOfHung(active);
      return ranMs >= renewMs && ranMs < LONGEST_RUN_MS;
    });
    if (long.length === 0) return;
    const owner = this.#owner;
    const until = now + leaseMs;
    await database
      .transact(undefined, async (tx) => {
        for (const { lane } of long) await renewLease(tx, { lane, owner, until });
      })
      // Another process may take them over then; storing the outcome will notice.
      .catch((error: Error) => log.warn({ reason: error.message }, "leases of jobs could not be renewed"));
  }

  #tellOfHung(active: ActiveLane): void {
    const { lane, job } = active;
    if (job === undefined || active.loggedAsHung === job) return;
    active.loggedAsHung = job;
    const { log } = this.#options.surroundings;
    log.error({ lane, job: job.id, kind: job.kind }, HUNG);
  }

  /** Releases a lane, to be leased again after a pause. */
  async #release({ lane }: Lane, pauseMs: number): Promise<void> {
    const { database, log, clock } = this.#options.surroundings;
    const owner = this.#owner;
    await database
      .transact(undefined, (tx) => renewLease(tx, { lane, owner, until: clock() + pauseMs }))
      // It is free when the lease ends.
      .catch((error: Error) => log.warn({ lane, reason: error.message }, "the lease of a lane could not be released"));
  }
}

function outcomeOf({ next, reason }: JobResult): RunOutcome {
  if (next.do === "pause") return "paused";
  if (next.do === "die") return "given_up";
  // A periodic job is scheduled again without having failed.
  if (reason === undefined) return "done";
  return next.do === "retry" ? "retried" : "given_up";
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** The trace context of a job; undefined if its payload cannot be parsed, which the run itself will report. */
function traceparentOf({ payload }: JobRow): string | undefined {
  try {
    return traceOf(JSON.parse(payload)).traceparent;
  } catch {
    return undefined;
  }
}
