import { isAbsolute } from "node:path";
import { type Static, Type } from "typebox";
import { MAX_AUDIT_BACKLOG } from "../../kernel/limits.ts";
import { operatorUrlProblem } from "../operator-url.ts";

/** The configuration file's settings for the audit stream. */

const MIB = 1024 * 1024;

export const Audit = Type.Object(
  {
    file: Type.Optional(
      Type.Object(
        {
          path: Type.String({ minLength: 1, maxLength: 4096 }),
          maxBytes: Type.Optional(Type.Integer({ minimum: 4096, maximum: 1024 * 1024 * MIB })),
          keep: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000 })),
        },
        { additionalProperties: false },
      ),
    ),
    syslog: Type.Optional(
      Type.Object(
        {
          address: Type.String({ pattern: "^(udp://|tcp://|unix:/)", maxLength: 512 }),
          facility: Type.Optional(Type.Integer({ minimum: 0, maximum: 23 })),
        },
        { additionalProperties: false },
      ),
    ),
    https: Type.Optional(
      Type.Object({ url: Type.String({ pattern: "^https?://", maxLength: 2048 }) }, { additionalProperties: false }),
    ),
    whenFull: Type.Optional(Type.Unsafe<"block" | "drop">({ type: "string", enum: ["block", "drop"] })),
    maxBacklog: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000_000 })),
  },
  {
    additionalProperties: false,
    description:
      'The audit stream, only in the configuration file: {"file": {"path": "/var/log/keystead/audit.ndjson", "maxBytes": 104857600, "keep": 10}, "syslog": {"address": "tcp://logs.example.com:601", "facility": 13}, "https": {"url": "https://logs.example.com/audit"}, "whenFull": "block", "maxBacklog": 100000}. "file", "syslog" and "https" are sinks, of which at least one is needed; "whenFull" is "block" or "drop".',
  },
);

/** The names of the sinks in settings, metrics, `/readyz` and the database. */
export const sinkNames = ["file", "syslog", "https"] as const;
export type SinkName = (typeof sinkNames)[number];

export interface FileSettings {
  /** An absolute path. */
  path: string;
  /** The size in bytes at which a new file is started. */
  maxBytes: number;
  /** How many full files are kept in addition. */
  keep: number;
}

export type SyslogAddress = { by: "udp" | "tcp"; host: string; port: number } | { by: "unix"; path: string };

export interface SyslogSettings {
  address: SyslogAddress;
  /** The facility's number in RFC 5424. */
  facility: number;
}

export interface HttpsSettings {
  url: string;
  /** Sent as a bearer token. */
  token: string | undefined;
}

export interface AuditSettings {
  file: FileSettings | undefined;
  syslog: SyslogSettings | undefined;
  https: HttpsSettings | undefined;
  /** What happens to activities while the queue of a sink is full. */
  whenFull: "block" | "drop";
  /** The maximum number of lines that may wait for a sink. */
  maxBacklog: number;
}

/** "log audit" */
const FACILITY = 13;
const SYSLOG_PORTS = { udp: 514, tcp: 601 };

/** Undefined if there is no sink. `refuse` receives the problem with the setting. */
export function auditSettingsOf(
  given: Static<typeof Audit> | undefined,
  token: string | undefined,
  allowPrivateNetworks: boolean,
  refuse: (problem: string) => never,
): AuditSettings | undefined {
  if (!given) return undefined;
  const { file, syslog, https, whenFull, maxBacklog = MAX_AUDIT_BACKLOG } = given;
  if (!(file || syslog || https)) return refuse("it has no sink; add `file`, `syslog` or `https`");
  // There is no default, because only the operator knows which is right.
  if (whenFull === undefined)
    return refuse(
      '`whenFull` is missing; set it to "block" to refuse writes, or to "drop" to lose lines, while a queue is full',
    );
  if (file && !isAbsolute(file.path)) return refuse("`file.path` must be an absolute path");
  const urlProblem = https && operatorUrlProblem(https.url, allowPrivateNetworks);
  if (urlProblem !== undefined) return refuse(`\`https.url\` ${urlProblem}`);
  return {
    file: file && { path: file.path, maxBytes: file.maxBytes ?? 100 * MIB, keep: file.keep ?? 10 },
    syslog: syslog && { address: syslogAddressOf(syslog.address, refuse), facility: syslog.facility ?? FACILITY },
    https: https && { url: https.url, token },
    whenFull,
    maxBacklog,
  };
}

function syslogAddressOf(text: string, refuse: (problem: string) => never): SyslogAddress {
  if (text.startsWith("unix:")) {
    const path = text.slice("unix:".length).replace(/^\/\/(?=\/)/, "");
    return isAbsolute(path)
      ? { by: "unix", path }
      : refuse("`syslog.address` must be `unix:` followed by an absolute path");
  }
  const url = URL.parse(text);
  const hasMore = url && (url.username !== "" || url.search !== "" || url.hash !== "" || !/^\/?$/.test(url.pathname));
  if (!url || hasMore || url.hostname === "") {
    return refuse("`syslog.address` must be udp:// or tcp:// with a host and a port, and nothing else");
  }
  const by = url.protocol === "udp:" ? "udp" : "tcp";
  const host = url.hostname.replace(/^\[(.*)\]$/, "$1");
  return { by, host, port: url.port === "" ? SYSLOG_PORTS[by] : Number(url.port) };
}

/** The names of the configured sinks. */
export const sinkNamesOf = (settings: AuditSettings | undefined): SinkName[] =>
  sinkNames.filter((name) => settings?.[name]);
