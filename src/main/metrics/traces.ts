import { Counter, type Registry } from "prom-client";
import type { DropReason, TraceExporter } from "../traces/exporter.ts";
import { countedElsewhere, gauge } from "./metrics.ts";

/** Metrics of exported, waiting and dropped spans. */
export function measureTraces(registry: Registry, exporter: Pick<TraceExporter, "figures">): void {
  countedElsewhere(
    registry,
    "trace_spans_exported_total",
    "Spans that the collector has accepted.",
    () => exporter.figures.exported,
  );
  gauge(registry, "trace_spans_waiting", "Spans that wait for the collector.", () => exporter.figures.waiting);
  new Counter({
    name: "keystead_trace_spans_dropped_total",
    help: "Spans that were lost: too many waited, or the collector did not accept them.",
    labelNames: ["reason"],
    registers: [registry],
    collect() {
      this.reset();
      for (const [reason, count] of Object.entries(exporter.figures.dropped) as [DropReason, number][]) {
        this.inc({ reason }, count);
      }
    },
  });
}
