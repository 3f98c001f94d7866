import type { Readiness } from "../../http/pages.ts";
import type { Shipper } from "./shipper.ts";
import type { AuditStream } from "./stream.ts";

/**
 * Adds the state of the audit sinks. A sink that accepts nothing is a warning. The server is not ready only while it refuses writes because of
 * a full sink.
 */
export const withAudit = (readiness: () => Promise<Readiness>, audit: AuditStream) => async (): Promise<Readiness> => {
  const known = await readiness();
  const { shippers, whenFull } = audit;
  const warnings = Object.fromEntries(
    shippers.flatMap((shipper) => {
      const problem = problemOf(shipper);
      return problem === undefined ? [] : [[`audit ${shipper.name}`, problem]];
    }),
  );
  const blocking = whenFull === "block" ? shippers.find(({ isFull }) => isFull) : undefined;
  const reason =
    blocking &&
    `${blocking.backlog} lines are waiting for the audit sink ${blocking.name}; reads work, but changes get 503`;
  return {
    ...known,
    ...(reason === undefined ? {} : { status: "not ready" as const, reasons: { ...known.reasons, audit: reason } }),
    audit: Object.fromEntries(
      shippers.map((shipper) => [shipper.name, { status: statusOf(shipper), backlog: shipper.backlog }]),
    ),
    ...(Object.keys(warnings).length === 0 ? {} : { warnings: { ...known.warnings, ...warnings } }),
  };
};

const statusOf = ({ isFull, failing }: Shipper) => (isFull ? "full" : failing ? "failing" : "delivering");

function problemOf({ failing, backlog, isFull, isLate, lagMs, memory, figures }: Shipper): string | undefined {
  // While the queue is full, show the total, because more may be dropped at any time; afterwards only those not reported to the sink yet.
  const dropped = isFull ? figures.dropped : memory.countOf("activities_dropped");
  const parts = [
    failing && `the sink ${failing.reason}, since ${new Date(failing.since).toISOString()}`,
    failing || isFull || isLate ? `${backlog} lines are waiting` : undefined,
    isLate ? `the first for ${Math.round(lagMs / 1000)} s` : undefined,
    dropped > 0 ? `${dropped} lines of activities were dropped` : undefined,
  ].filter((part) => part !== undefined);
  return parts.length === 0 ? undefined : parts.join("; ");
}
