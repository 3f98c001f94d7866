import type { Static, TSchema } from "typebox";
import type { BackOff } from "../../kernel/back-off.ts";
import type { Clock } from "../../kernel/clock.ts";
import { HOUR_MS } from "../../kernel/durations.ts";
import { newId } from "../../kernel/ids.ts";
import type { Logger } from "../../kernel/log.ts";
import { currentSpan } from "../../kernel/spans.ts";
import type { SignerVerb } from "../../signer/protocol.ts";
import type { Database } from "../../storage/database.ts";
import { deleteAll, deleteSome } from "../../storage/deletion-in-turns.ts";
import type { Reader, Transactor } from "../../storage/engine.ts";
import { prepared, preparedWrite } from "../../storage/prepared.ts";
import type { Wants } from "../operations.ts";
import type { AskedSigner, ServiceName, Services } from "../services.ts";
import { matches } from "../validate.ts";
import type { Gates } from "./gates.ts";
import type { SealedSecret } from "./sealed-secrets.ts";

/**
 * Jobs: work after a commit. A job is a row written in the transaction that makes the work necessary, and any process on the database may
 * run it. It may run again after a crash, so it must be idempotent.
 */

/** What every job receives. */
export interface JobSurroundings {
  database: Database;
  clock: Clock;
  log: Logger;
}

/** The context of a job, with the services it needs and a signer limited to the verbs it asks. */
export type JobContext<
  Payload,
  Needs extends ServiceName = never,
  Asks extends SignerVerb = never,
  Secret = undefined,
> = JobSurroundings &
  Pick<Services, Needs> & {
    signer: AskedSigner<Asks>;
    payload: Payload;
    /** The job's sealed secret, opened for this run. */
    secret: Secret;
    /** The number of earlier runs that ended in a retry. */
    attempts: number;
    /**
     * Stores a new payload immediately, for the next run, whatever the outcome of this one.
     *
     * @throws Error if another process has taken the job over, or it was queued again
     */
    keep: (payload: Payload) => Promise<void>;
  };

/** The outcome of a run. `record` runs in the transaction that stores the outcome. */
export interface JobResult {
  /** `pause` leaves the job unchanged and pauses its whole lane: something that the job depends on is unavailable. */
  next: { do: "finish" } | { do: "retry"; inMs: number } | { do: "die" } | { do: "pause"; inMs: number };
  /** Why it is not finished, for the operator. */
  reason?: string;
  record?: (tx: Transactor) => Promise<void>;
}

export interface JobKind extends Wants {
  name: string;
  /** The interval after which it runs again, forever; absent for one-off jobs. */
  everyMs?: number;
  /** How often a run that throws is retried, with a growing back-off, before the job is dead. */
  maxAttempts: number;
  /**
   * True if what its runs record does not affect decisions on the organization's activities. It is then stored concurrently with them instead
   * of being serialized.
   */
  concurrent?: boolean;
  /** Must end within five minutes. After that it is treated as hung, and another process, if there is one, runs the job again. */
  run: (context: JobContext<unknown, never, never, unknown>) => Promise<JobResult>;
}

const DEFAULT_MAX_ATTEMPTS = 20;

type SecretOf<S> = S extends TSchema ? Static<S> : undefined;

/** Declares a one-off job with the schema of its payload. A job whose payload does not match is dead immediately. */
export function job<
  P extends TSchema,
  S extends TSchema | undefined = undefined,
  Needs extends ServiceName = never,
  Asks extends SignerVerb = never,
>(declaration: {
  name: string;
  payload: P;
  /** The schema of the sealed secret, for jobs that have one. */
  secret?: S;
  /** The services that it is given. */
  needs?: readonly Needs[];
  /** What it asks the signer. */
  asks?: readonly Asks[];
  maxAttempts?: number;
  concurrent?: boolean;
  run: (context: JobContext<Static<P>, Needs, Asks, SecretOf<S>>) => Promise<JobResult>;
}): JobKind {
  const {
    name,
    payload,
    secret,
    maxAttempts = DEFAULT_MAX_ATTEMPTS,
    concurrent = false,
    needs = [],
    asks = [],
    run,
  } = declaration;
  return {
    name,
    needs,
    asks,
    maxAttempts,
    concurrent,
    run: async (context) => {
      const fits = matches(payload, context.payload) && (secret === undefined || matches(secret, context.secret));
      if (fits) return run(context as JobContext<Static<P>, Needs, Asks, SecretOf<S>>);
      return { next: { do: "die" }, reason: "the payload does not have the form of this kind of job" };
    },
  };
}

/** Declares a reconciler: a periodic job without a payload that inspects the state and corrects it. */
export function reconciler<Needs extends ServiceName = never>(declaration: {
  name: string;
  everyMs: number;
  /** The services that it is given. */
  needs?: readonly Needs[];
  /** Resolves to undefined if there is nothing to record and the usual interval applies. */
  run: (context: JobContext<null, Needs>) => Promise<JobResult | undefined>;
}): JobKind {
  const { name, everyMs, needs = [], run } = declaration;
  return {
    name,
    everyMs,
    maxAttempts: Number.POSITIVE_INFINITY,
    needs,
    asks: [],
    run: async (context) => (await run(context as JobContext<null, Needs>)) ?? { next: { do: "retry", inMs: everyMs } },
  };
}

export interface NewJob {
  /** The name of the job's kind. */
  kind: string;
  /** Identifiers only: it is shown to operators. */
  payload: unknown;
  /** A secret that only the job may read. */
  secret?: SealedSecret;
  /** Jobs of one lane run one at a time, in the order of `runAt`. */
  lane: string;
  /** Lanes of one gate depend on the same thing and share a bounded number of workers. One, or several by `gatesOf`. */
  gate: Gates;
  organizationId: string | null;
  /** Milliseconds. */
  runAt: number;
  now: number;
  /** A job with the same key is the same job: it is restarted, and keeps its first payload, secret and lane. */
  key?: string;
}

/** The listeners for new jobs, by the reader of the committed state of their database. */
const listeners = new WeakMap<Reader, Set<() => void>>();

/** Calls `listener` after every commit that stored jobs, until the returned function is called. */
export function onNewJobs({ read }: Pick<Database, "read">, listener: () => void): () => void {
  const all = listeners.get(read) ?? new Set();
  listeners.set(read, all.add(listener));
  return () => void all.delete(listener);
}

function announceJobs(committed: Reader): void {
  for (const listener of listeners.get(committed) ?? []) listener();
}

/** Stores a job. The worker of this process runs it as soon as the transaction is committed. */
export async function enqueue(tx: Transactor, newJob: NewJob): Promise<void> {
  const { kind, payload, secret, lane, gate, organizationId, runAt, now, key } = newJob;
  tx.afterCommit(() => announceJobs(tx.committed));
  await insertLane(tx, { lane, gate });
  await upsertJob(tx, {
    id: newId(),
    lane,
    kind,
    payload: JSON.stringify(withTrace(payload)),
    sealedSecret: secret === undefined ? null : JSON.stringify(secret),
    organizationId,
    key: key ?? null,
    runAt,
    now,
  });
}

/** The payload with the current trace context, if there is one, so that the job continues the trace. */
function withTrace(payload: unknown): unknown {
  const traceparent = currentSpan()?.traceparent;
  return traceparent === undefined || payload === null ? payload : { ...(payload as object), traceparent };
}

/** Separates the trace context from a stored payload. */
export function traceOf(stored: unknown): { payload: unknown; traceparent: string | undefined } {
  if (stored === null || typeof stored !== "object" || !("traceparent" in stored)) {
    return { payload: stored, traceparent: undefined };
  }
  const { traceparent, ...payload } = stored;
  return { payload, traceparent: typeof traceparent === "string" ? traceparent : undefined };
}

/** Whether a job with this key will run, now or later. It is gone in the transaction that records its end. */
export const isQueued = async (read: Reader, key: string): Promise<boolean> =>
  (await selectQueued(read, { key })).length > 0;

const selectQueued = prepared<{ key: string }>()((db, { key }) =>
  db.selectFrom("jobs").select("id").where("key", "=", key).where("state", "=", "waiting"),
);

/** Changes the gate of a lane, when its jobs depend on something else than before. */
export const moveLane = preparedWrite<{ lane: string; gate: Gates }>()((db, { lane, gate }) =>
  db.updateTable("job_lanes").set({ gate }).where("lane", "=", lane).returning("lane"),
);

/** Deletes all jobs of an organization's lane, dead ones too. Waits for the outcome that is just being stored, if there is one. */
export async function dropJobs(tx: Transactor, lane: string, organizationId: string): Promise<void> {
  await lockLane(tx, { lane });
  await deleteAll(tx.kind, organizationId, tx.deleteFrom("jobs"), tx.selectFrom("jobs"), (job) =>
    job("lane", "=", lane),
  );
}

/** The same a portion at a time: deletes up to `limit` of them and resolves to how many there were. */
export async function dropSomeJobs(tx: Transactor, lane: string, limit: number): Promise<number> {
  await lockLane(tx, { lane });
  return deleteSome(tx.kind, tx.deleteFrom("jobs"), tx.selectFrom("jobs").where("lane", "=", lane), limit);
}

const lockLane = preparedWrite<{ lane: string }>()((db, { lane }) =>
  db
    .updateTable("job_lanes")
    .set((set) => ({ owner: set.ref("owner") }))
    .where("lane", "=", lane)
    .returning("lane"),
);

// Reads first, because inserting an existing lane would wait for the transaction that is storing an outcome of it.
const insertLane = preparedWrite<{ lane: string; gate: string }>()((db, { lane, gate }) =>
  db
    .insertInto("job_lanes")
    .columns(["lane", "gate", "leased_until", "owner"])
    .expression(
      db
        .selectNoFrom((eb) => [
          eb.val(lane).as("lane"),
          eb.val(gate).as("gate"),
          eb.lit(0).as("leased_until"),
          eb.val("").as("owner"),
        ])
        .where((eb) => eb.not(eb.exists(eb.selectFrom("job_lanes").select("lane").where("lane", "=", lane)))),
    )
    .onConflict((conflict) => conflict.column("lane").doNothing())
    .returning("lane"),
);

const upsertJob = preparedWrite<{
  id: string;
  lane: string;
  kind: string;
  payload: string;
  sealedSecret: string | null;
  organizationId: string | null;
  key: string | null;
  runAt: number;
  now: number;
}>()((db, row) =>
  db
    .insertInto("jobs")
    .values({
      id: row.id,
      lane: row.lane,
      kind: row.kind,
      payload: row.payload,
      sealed_secret: row.sealedSecret,
      organization_id: row.organizationId,
      key: row.key,
      state: "waiting",
      run_at: row.runAt,
      attempts: 0,
      last_error: null,
      created_at: row.now,
      updated_at: row.now,
    })
    .onConflict((conflict) =>
      conflict.column("key").doUpdateSet((set) => ({
        state: "waiting" as const,
        run_at: set.ref("excluded.run_at"),
        attempts: 0,
        last_error: null,
        // Tells a worker that the job was queued again while it ran, even within the same millisecond.
        updated_at: set
          .case()
          .when("excluded.updated_at", ">", set.ref("jobs.updated_at"))
          .then(set.ref("excluded.updated_at"))
          .else(set("jobs.updated_at", "+", 1))
          .end(),
      })),
    )
    .returning("id"),
);

/** The default back-off of jobs. */
export const JOB_BACK_OFF: BackOff = { firstMs: 1000, longestMs: HOUR_MS, spread: 1 / 2 };
