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
import { preparedWrite } from "../../storage/prepared.ts";
import type { Wants } from "../operations.ts";
import type { AskedSigner, ServiceName, Services } from "../services.ts";
import { matches } from "../validate.ts";
import type { Gates } from "./gates.ts";
import type { SealedSecret } from "./sealed-secrets.ts";

/**
 * Work that happens after a commit: rows written in the transaction that makes the work necessary, taken up by whichever
 * process is there. A job may be started again after a crash, so what it does can be done twice without harm.
 */

/** What every job is given. */
export interface JobSurroundings {
  database: Database;
  clock: Clock;
  log: Logger;
}

/** With the services that the job needs, and the signer for what it asks. */
export type JobContext<
  Payload,
  Needs extends ServiceName = never,
  Asks extends SignerVerb = never,
  Secret = undefined,
> = JobSurroundings &
  Pick<Services, Needs> & {
    signer: AskedSigner<Asks>;
    payload: Payload;
    /** What was sealed for the job, opened for this run alone. */
    secret: Secret;
    /** Runs before this one that ended in a retry. */
    attempts: number;
    /**
     * Stores another payload at once, for whichever run comes after this one, however this one ends.
     *
     * @throws Error where the job is another process's by now, or was queued anew
     */
    keep: (payload: Payload) => Promise<void>;
  };

/** How a run ended. `record` is stored in one transaction with the job's own end. */
export interface JobResult {
  /** `pause` leaves the job as it was and lets its whole lane rest: what is missing is not the job's fault. */
  next: { do: "finish" } | { do: "retry"; inMs: number } | { do: "die" } | { do: "pause"; inMs: number };
  /** For the operator: why it is not finished. */
  reason?: string;
  record?: (tx: Transactor) => Promise<void>;
}

export interface JobKind extends Wants {
  name: string;
  /** Runs again this long after each success, forever, without input; absent for one-off jobs. */
  everyMs?: number;
  /** A run that throws is retried with growing pauses so often before the job is dead. */
  maxAttempts: number;
  /**
   * What its runs record touches nothing that the organization's activities decide by, and is stored beside them instead of
   * in turn with them.
   */
  concurrent?: boolean;
  /** Must end by itself: after five minutes it is taken for hung, and another process, where there is one, starts it again. */
  run: (context: JobContext<unknown, never, never, unknown>) => Promise<JobResult>;
}

const DEFAULT_MAX_ATTEMPTS = 20;

type SecretOf<S> = S extends TSchema ? Static<S> : undefined;

/** Declares a one-off job with the shape of its payload; one of another shape is dead at once. */
export function job<
  P extends TSchema,
  S extends TSchema | undefined = undefined,
  Needs extends ServiceName = never,
  Asks extends SignerVerb = never,
>(declaration: {
  name: string;
  payload: P;
  /** The shape of what is sealed for it, for jobs that must know what nobody else may read. */
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
      return { next: { do: "die" }, reason: "the payload is not of the shape that this kind of job has" };
    },
  };
}

/** Declares a reconciler: it looks at the state of things by itself and puts right what it finds. */
export function reconciler<Needs extends ServiceName = never>(declaration: {
  name: string;
  everyMs: number;
  /** The services that it is given. */
  needs?: readonly Needs[];
  /** Resolves to undefined where there is nothing to record and it runs again as usual. */
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
  /** The name of its kind. */
  kind: string;
  /** It is shown to operators: identifiers, nothing secret. */
  payload: unknown;
  /** What only the job itself may read. */
  secret?: SealedSecret;
  /** Jobs of one lane run one after the other, in the order of their time. */
  lane: string;
  /** Lanes of one gate share a bounded number of workers: what they wait for is the same. One, or several by `gatesOf`. */
  gate: Gates;
  organizationId: string | null;
  /** Milliseconds. */
  runAt: number;
  now: number;
  /** A job of the same key is the same job: it is set back to the start, and keeps its first payload, secret and lane. */
  key?: string;
}

/** Who looks for work on a database, by its committed state. */
const listeners = new WeakMap<Reader, Set<() => void>>();

/** Has `listener` called after every commit that stored jobs, until the answer is called. */
export function onNewJobs({ read }: Pick<Database, "read">, listener: () => void): () => void {
  const all = listeners.get(read) ?? new Set();
  listeners.set(read, all.add(listener));
  return () => void all.delete(listener);
}

function announceJobs(committed: Reader): void {
  for (const listener of listeners.get(committed) ?? []) listener();
}

/** Stores a job; the worker of this process takes it up as soon as the transaction is committed. */
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

/** The payload, with the trace that the job goes on with where what asks for it is traced. */
function withTrace(payload: unknown): unknown {
  const traceparent = currentSpan()?.traceparent;
  return traceparent === undefined || payload === null ? payload : { ...(payload as object), traceparent };
}

/** Takes the trace out of a payload as it is stored. */
export function traceOf(stored: unknown): { payload: unknown; traceparent: string | undefined } {
  if (stored === null || typeof stored !== "object" || !("traceparent" in stored)) {
    return { payload: stored, traceparent: undefined };
  }
  const { traceparent, ...payload } = stored;
  return { payload, traceparent: typeof traceparent === "string" ? traceparent : undefined };
}

/** Puts a lane behind another gate, for when what its jobs wait for has changed. */
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

// Looked for first: inserting what is there would wait for the transaction that is just storing an outcome of this lane.
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
        // By it a worker knows that the job was queued again while it ran, be it in the same millisecond.
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

/** Of jobs that say nothing else. */
export const JOB_BACK_OFF: BackOff = { firstMs: 1000, longestMs: HOUR_MS, spread: 1 / 2 };
