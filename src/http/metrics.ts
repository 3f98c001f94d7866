import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import type { SignerFigures, SignerProcess } from "../signer/client.ts";

/** What an operator watches; names and labels hold operations and outcomes, never identifiers of customers. */
export interface Metrics {
  readonly registry: Registry;
  /** One answered request. */
  observe(operation: string, status: number, seconds: number): void;
}

export function createMetrics(signer: Pick<SignerProcess, "state" | "figures">): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, prefix: "keystead_" });
  const requests = new Counter({
    name: "keystead_requests_total",
    help: "Requests by operation and HTTP status.",
    labelNames: ["operation", "status"],
    registers: [registry],
  });
  const durations = new Histogram({
    name: "keystead_request_duration_seconds",
    help: "Time from the whole body to the answer, by operation.",
    labelNames: ["operation"],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers: [registry],
  });
  new Gauge({
    name: "keystead_signer_ready",
    help: "1 while the signer can sign, 0 while it is down or sealed.",
    registers: [registry],
    collect() {
      this.set(signer.state === "ready" ? 1 : 0);
    },
  });
  new Gauge({
    name: "keystead_signer_queue_length",
    help: "Requests that wait for the signer, those that it has in hand not counted.",
    registers: [registry],
    collect() {
      this.set(signer.figures.waiting);
    },
  });
  const counters: [name: string, help: string, figure: (figures: SignerFigures) => number][] = [
    ["keystead_signer_busy_seconds_total", "Time that the signer has worked.", ({ busyMs }) => busyMs / 1000],
    ["keystead_signer_restarts_total", "How often the signer was lost and replaced.", ({ restarts }) => restarts],
    ["keystead_signer_shed_total", "Requests refused because too much waited for the signer.", ({ shed }) => shed],
  ];
  for (const [name, help, figure] of counters) {
    new Counter({
      name,
      help,
      registers: [registry],
      collect() {
        this.reset();
        this.inc(figure(signer.figures));
      },
    });
  }
  return {
    registry,
    observe(operation, status, seconds) {
      requests.inc({ operation, status });
      durations.observe({ operation }, seconds);
    },
  };
}
