import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";

/** What an operator watches; names and labels hold operations and outcomes, never identifiers of customers. */
export interface Metrics {
  readonly registry: Registry;
  /** One answered request. */
  observe(operation: string, status: number, seconds: number): void;
}

export function createMetrics(signerIsReady: () => boolean): Metrics {
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
      this.set(signerIsReady() ? 1 : 0);
    },
  });
  return {
    registry,
    observe(operation, status, seconds) {
      requests.inc({ operation, status });
      durations.observe({ operation }, seconds);
    },
  };
}
