import { Counter, Gauge, type Registry } from "prom-client";
import type { Shipper } from "../audit/shipper.ts";
import type { AuditStream } from "../audit/stream.ts";
import { countedElsewhere } from "./metrics.ts";

/** Metrics of the audit stream, by sink. */
export function measureAudit(registry: Registry, audit: Pick<AuditStream, "shippers" | "leftOut">): void {
  const registers = [registry];
  const labelNames = ["sink"] as const;
  const gauge = (name: string, help: string, value: (shipper: Shipper) => number) =>
    new Gauge({
      name: `keystead_audit_${name}`,
      help,
      labelNames,
      registers,
      collect() {
        for (const shipper of audit.shippers) this.set({ sink: shipper.name }, value(shipper));
      },
    });
  const counter = (name: string, help: string, value: (shipper: Shipper) => number) =>
    new Counter({
      name: `keystead_audit_${name}`,
      help,
      labelNames,
      registers,
      collect() {
        this.reset();
        for (const shipper of audit.shippers) this.inc({ sink: shipper.name }, value(shipper));
      },
    });
  counter("lines_total", "Lines that this server has delivered to a sink.", ({ figures }) => figures.delivered);
  counter("failures_total", "Attempts to deliver lines to a sink that failed.", ({ figures }) => figures.failures);
  counter(
    "dropped_total",
    "Lines of activities that were dropped because the queue of a sink was full.",
    ({ figures }) => figures.dropped,
  );
  gauge("backlog", "Lines of activities that wait for a sink.", ({ backlog }) => backlog);
  gauge("lag_seconds", "How long the oldest waiting line has waited.", ({ lagMs }) => lagMs / 1000);
  countedElsewhere(
    registry,
    "audit_refusals_left_out_total",
    "Refused authentications without a line of their own, because there were too many.",
    () => audit.leftOut,
  );
}
