import { OutboundError } from "../delivery/outbound.ts";
import type { Readiness } from "../http/pages.ts";
import { MAX_COUNTED_JOBS, MAX_STATUS_BYTES, STATUS_DEADLINE_MS } from "../kernel/limits.ts";
import { createNodeClient } from "../nodes/node-client.ts";
import { NEWEST_BACKUP_METRIC } from "./backup/newest-metric.ts";
import type { Config } from "./config.ts";
import { urlOf } from "./listening.ts";

/** `keystead status`: the state that this machine's server reports at its admin port. */

export type Status =
  | { state: "none"; reason: string }
  /** Something accepts connections at the port but does not answer in time. */
  | { state: "silent"; reason: string }
  /** The admin port is disabled. */
  | { state: "unknown"; reason: string }
  | {
      state: "ready" | "not ready";
      version: string | undefined;
      uptimeSeconds: number | undefined;
      /** By part; empty if all parts are ready. */
      reasons: Record<string, string>;
      warnings: Record<string, string>;
      /** The chains and their nodes. */
      chains: NonNullable<Readiness["chains"]>;
      /** Since when changes are refused, and why. */
      maintenance: string | undefined;
      /** The sinks of the audit stream. */
      audit: NonNullable<Readiness["audit"]>;
      /** When the newest scheduled backup was begun; null if there is none yet, undefined if none is scheduled. */
      newestBackup: string | null | undefined;
      /** Undefined if the database does not answer. */
      jobs: { waiting: number | undefined; dead: number | undefined };
    };

/** The same as those of `systemctl status`, where it defines them. */
export const exitCodes: Readonly<Record<Status["state"], number>> = {
  ready: 0,
  "not ready": 2,
  none: 3,
  silent: 4,
  unknown: 4,
};

export async function statusOf({ adminHost, adminPort }: Pick<Config, "adminHost" | "adminPort">): Promise<Status> {
  if (adminPort === 0) {
    const reason = "KEYSTEAD_ADMIN_PORT is 0, so a server with these settings has no admin port to ask";
    return { state: "unknown", reason };
  }
  const origin = urlOf(adminHost, adminPort);
  const outbound = createNodeClient();
  const get = async (path: string): Promise<string> => {
    const { body } = await outbound.request({
      method: "GET",
      url: `${origin}${path}`,
      timeoutMs: STATUS_DEADLINE_MS,
      maxResponseBytes: MAX_STATUS_BYTES,
    });
    return body.toString();
  };
  try {
    const [readyz, metrics] = await Promise.all([get("/readyz"), get("/metrics")]);
    const readiness = readinessIn(readyz);
    if (readiness) return statusFrom(readiness, metrics);
    return {
      state: "none",
      reason: `something other than Keystead answers at ${origin}; check KEYSTEAD_ADMIN_HOST and KEYSTEAD_ADMIN_PORT`,
    };
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error;
    if (error.waitedFor === "answer" || error.waitedFor === "body") {
      const reason = `${origin} accepts connections, but did not answer within ${STATUS_DEADLINE_MS / 1000} s; check the server's log, processor and disk, and restart it if this does not change`;
      return { state: "silent", reason };
    }
    const reason = `no server answers at ${origin} (${error.message}); start it with \`keystead serve\`, or give this command the server's settings`;
    return { state: "none", reason };
  } finally {
    await outbound.close();
  }
}

function readinessIn(text: string): Readiness | undefined {
  try {
    const value = JSON.parse(text) as Partial<Readiness> | null;
    const isOurs = value !== null && (value.status === "ready" || value.status === "not ready") && "signer" in value;
    return isOurs ? (value as Readiness) : undefined;
  } catch {
    return undefined;
  }
}

function statusFrom(
  { status, reasons = {}, warnings = {}, chains = {}, maintenance, audit = {} }: Readiness,
  metrics: string,
): Status {
  const startedAt = sampleIn(metrics, "keystead_process_start_time_seconds");
  const backedUpAt = sampleIn(metrics, NEWEST_BACKUP_METRIC);
  return {
    state: status,
    version: /^keystead_build_info\{version="([^"]{1,100})"\} 1$/m.exec(metrics)?.[1],
    uptimeSeconds: startedAt === undefined ? undefined : Math.max(0, Math.floor(Date.now() / 1000 - startedAt)),
    reasons,
    warnings,
    chains,
    maintenance,
    audit,
    newestBackup:
      backedUpAt === undefined ? undefined : backedUpAt > 0 ? new Date(backedUpAt * 1000).toISOString() : null,
    jobs: {
      waiting: jobsIn(metrics, "waiting"),
      dead: jobsIn(metrics, "dead"),
    },
  };
}

/** The sum over all kinds. There are always waiting jobs, because some recur; so if there is none, the database did not answer: undefined. */
function jobsIn(metrics: string, state: string): number | undefined {
  const samples = [...metrics.matchAll(/^keystead_jobs\{kind="[^"]{1,100}",state="(\w+)"\} (\d+)$/gm)];
  if (samples.length === 0) return undefined;
  return samples.reduce((sum, [, of, count]) => sum + (of === state ? Number(count) : 0), 0);
}

/** The value of a sample in the text format of Prometheus. */
function sampleIn(metrics: string, sample: string): number | undefined {
  const line = metrics.split("\n").find((each) => each.startsWith(`${sample} `));
  return line === undefined ? undefined : Number(line.slice(sample.length + 1));
}

export function describeStatus(status: Status): string {
  if (status.state === "none") return `not running: ${status.reason}\n`;
  if (status.state === "silent") return `no answer: ${status.reason}\n`;
  if (status.state === "unknown") return `unknown: ${status.reason}\n`;
  const {
    state,
    version = "unknown",
    uptimeSeconds,
    reasons,
    warnings,
    chains,
    maintenance,
    audit,
    newestBackup,
    jobs,
  } = status;
  const lines = [
    ["state", state],
    ["version", version],
    ["uptime", uptimeSeconds === undefined ? "unknown" : duration(uptimeSeconds)],
    ...(maintenance === undefined ? [] : [["maintenance", maintenance]]),
    ...Object.entries(reasons),
    ...Object.entries(warnings).map(([part, text]) => [`warning ${part}`, text]),
    ...Object.entries(chains).flatMap(([chain, { status, nodes }]) =>
      isWorthTelling(status) || nodes.some((node) => isWorthTelling(node.status))
        ? [[`chain ${chain}`, `${status} (${nodes.map((node) => `${node.host} ${node.status}`).join(", ")})`]]
        : [],
    ),
    ...Object.entries(audit).map(([sink, { status, backlog }]) => [
      `audit ${sink}`,
      `${status}, ${backlog} lines waiting`,
    ]),
    ...(newestBackup === undefined ? [] : [["backup", backupLine(newestBackup)]]),
    ["jobs", `${count(jobs.waiting)} waiting, ${count(jobs.dead)} dead${jobs.dead ? `; ${SHOW_DEAD_JOBS}` : ""}`],
  ];
  return lines.map(([name, text]) => `${name}: ${text}\n`).join("");
}

const SHOW_DEAD_JOBS =
  "`keystead jobs list` shows the dead ones with the reasons, and `keystead jobs retry` runs them again";

/** Nodes are not asked before they are needed, so `unchecked` says nothing about them. */
const isWorthTelling = (status: string): boolean => status !== "ready" && status !== "unchecked";

const backupLine = (newest: string | null): string =>
  newest === null ? "there is none yet" : `the newest is from ${newest}`;

const count = (jobs: number | undefined): string =>
  jobs === undefined ? "an unknown number" : `${jobs}${jobs >= MAX_COUNTED_JOBS ? " or more" : ""}`;

function duration(seconds: number): string {
  const [days, hours, minutes] = [
    Math.floor(seconds / 86_400),
    Math.floor(seconds / 3600) % 24,
    Math.floor(seconds / 60) % 60,
  ];
  if (days > 0) return `${days} d ${hours} h`;
  if (hours > 0) return `${hours} h ${minutes} min`;
  return minutes > 0 ? `${minutes} min ${seconds % 60} s` : `${seconds} s`;
}
