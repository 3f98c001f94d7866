import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import type { WebhookObserver } from "../../capabilities/webhooks/services.ts";
import type { RunOutcome } from "../../engine/jobs/worker.ts";
import type { TrafficObserver } from "../../http/listener.ts";
import { failureKinds } from "../../storage/failure.ts";
import type { CommitObserver } from "../../storage/group-commit.ts";

/** Metrics for operators. Names and labels contain operations, kinds and outcomes, never identifiers of customers. */
export interface Metrics {
  readonly registry: Registry;
  readonly traffic: TrafficObserver;
  readonly commits: CommitObserver;
  readonly webhooks: WebhookObserver;
  /** The signer has answered a request after this time. */
  signerAnswered(verb: string, seconds: number): void;
  /** An activity was stored in a new state. */
  activityStored(type: string, status: string): void;
  /** A run of a job has ended. */
  jobRan(kind: string, outcome: RunOutcome): void;
}

const DURATIONS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const BATCH_SIZES = [1, 2, 4, 8, 16, 32, 64];
/** Statuses of requests that were rejected before an operation ran: because of a limit, or because there is nothing at the path. */
const TURNED_AWAY = [404, 413, 429, 503];

/** Creates the metrics that are updated by events. The other files in this folder add those that are read at each scrape. */
export function createMetrics(version: string): Metrics {
  const registry = new Registry();
  const registers = [registry];
  const counter = <L extends string>(name: string, help: string, labelNames: readonly L[]) =>
    new Counter({ name: `keystead_${name}`, help, labelNames, registers });
  const histogram = <L extends string>(name: string, help: string, labelNames: readonly L[], buckets = DURATIONS) =>
    new Histogram({ name: `keystead_${name}`, help, labelNames: [...labelNames], buckets, registers });

  new Gauge({
    name: "keystead_build_info",
    help: "1, for the version that runs.",
    labelNames: ["version"],
    registers,
  }).set({ version }, 1);
  collectDefaultMetrics({ register: registry, prefix: "keystead_" });
  // These are sums of other metrics, and their names suggest counters.
  for (const name of ["handles", "requests", "resources"]) {
    registry.removeSingleMetric(`keystead_nodejs_active_${name}_total`);
  }

  const requests = counter("requests_total", "Requests by operation and HTTP status.", ["operation", "status"]);
  const durations = histogram(
    "request_duration_seconds",
    "Time from a complete request to its response, by operation.",
    ["operation"],
  );
  const errors = counter("errors_total", "Requests that were answered with an error, by its name.", [
    "operation",
    "error",
  ]);
  const refusedStamps = counter("auth_failures_total", "Requests answered with 401, by the name of the error.", [
    "reason",
  ]);
  const rejected = counter(
    "rejected_total",
    "Requests answered with 404, 413, 429 or 503, and connections turned away.",
    ["reason"],
  );
  const activities = counter("activities_total", "Activities stored in a new state.", ["type", "status"]);
  const signer = histogram("signer_duration_seconds", "Time from a request to the signer to its answer, by verb.", [
    "verb",
  ]);
  const commits = histogram(
    "commit_duration_seconds",
    "Time from the start of a transaction to its durable commit.",
    [],
  );
  const batches = histogram("commit_batch_size", "Functions that were committed in one transaction.", [], BATCH_SIZES);
  const failedCommits = counter(
    "commit_failures_total",
    "Transactions that failed as a whole, whether they were retried or not.",
    ["kind"],
  );
  // Start at 0, because monitoring computes increases from a previous value; otherwise it would miss the first failure.
  for (const kind of failureKinds) failedCommits.inc({ kind }, 0);
  const locks = histogram(
    "organization_lock_wait_seconds",
    "Time that transactions waited for the lock of their organization.",
    [],
  );
  const runs = counter("job_runs_total", "Runs of jobs that have ended, by kind and outcome.", ["kind", "outcome"]);
  const deliveries = counter("webhook_attempts_total", "Attempts to deliver a webhook.", ["outcome"]);

  return {
    registry,
    traffic: {
      answered(operation, status, seconds) {
        requests.inc({ operation, status });
        durations.observe({ operation }, seconds);
      },
      failed({ operation, status, name }) {
        if (operation !== undefined) errors.inc({ operation, error: name });
        if (status === 401) refusedStamps.inc({ reason: name });
        if (operation === undefined || TURNED_AWAY.includes(status)) rejected.inc({ reason: name });
      },
      turnedAway: (reason) => rejected.inc({ reason }),
    },
    commits: {
      locked: (seconds) => locks.observe(seconds),
      committed(functions, seconds) {
        batches.observe(functions);
        commits.observe(seconds);
      },
      failed: (kind) => failedCommits.inc({ kind }),
    },
    webhooks: { attempted: (outcome) => deliveries.inc({ outcome }) },
    signerAnswered: (verb, seconds) => signer.observe({ verb }, seconds),
    activityStored: (type, status) => activities.inc({ type, status }),
    jobRan: (kind, outcome) => runs.inc({ kind, outcome }),
  };
}

export const measureTraffic = (registry: Registry, inFlight: () => number): void =>
  gauge(registry, "requests_in_flight", "Requests that are open at this moment.", inFlight);

/** A value that is read at each scrape; omitted while it is undefined. */
export function gauge(
  registry: Registry,
  name: string,
  help: string,
  value: () => number | undefined | Promise<number | undefined>,
): void {
  new Gauge({
    name: `keystead_${name}`,
    help,
    registers: [registry],
    async collect() {
      const now = await value();
      if (now === undefined) this.remove();
      else this.set(now);
    },
  });
}

/** A count that is kept elsewhere. */
export function countedElsewhere(registry: Registry, name: string, help: string, value: () => number): void {
  new Counter({
    name: `keystead_${name}`,
    help,
    registers: [registry],
    collect() {
      this.reset();
      this.inc(value());
    },
  });
}
