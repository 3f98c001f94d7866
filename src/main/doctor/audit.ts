import { accessSync, constants, existsSync, statSync } from "node:fs";
import type { Clock } from "../../kernel/clock.ts";
import { MINUTE_MS } from "../../kernel/durations.ts";
import { nearestThere } from "../../kernel/free-bytes.ts";
import { DOCTOR_STEP_MS, MAX_AUDIT_ANSWER_BYTES } from "../../kernel/limits.ts";
import { sqliteFileOf } from "../../storage/database.ts";
import { DatabaseFailure } from "../../storage/failure.ts";
import { type Inspection, openInspection } from "../../storage/inspection.ts";
import { clientFor } from "../audit/https-sink.ts";
import {
  type AuditSettings,
  type FileSettings,
  type HttpsSettings,
  type SyslogSettings,
  sinkNames,
  sinkNamesOf,
} from "../audit/settings.ts";
import { sinkFailure } from "../audit/sink.ts";
import { openStream } from "../audit/syslog-sink.ts";
import type { Config } from "../config.ts";
import { type Finding, fail, ok, warn } from "./finding.ts";

/** Lines that wait for longer are late: the sink accepts none, or no server runs. */
const LATE_MS = 5 * MINUTE_MS;

/** Checks whether each sink of the audit stream can be reached, and how many lines wait for it. Sends no lines. */
export async function checkAudit({ audit, databaseUrl }: Config, clock: Clock): Promise<Finding[]> {
  const waiting = await waitingIn(databaseUrl, audit);
  const now = clock();
  const findings = audit ? await Promise.all(sinkNamesOf(audit).map((name) => checkSink(name, audit))) : [];
  for (const { sink, count, oldest } of waiting) {
    const text = `${count} lines are waiting for it, the first since ${new Date(oldest).toISOString()}`;
    const isKnown = audit && sinkNames.some((name) => name === sink && audit[name]);
    if (!isKnown) {
      findings.push(
        warn(checkOf(sink), `${text}, but \`audit\` does not contain it; add it again to have them delivered`),
      );
    } else if (count >= audit.maxBacklog) {
      findings.push(
        fail(checkOf(sink), `${text}: ${WHEN_FULL[audit.whenFull]}; the log says why it does not accept any`),
      );
    } else if (now - oldest > LATE_MS) {
      findings.push(
        warn(
          checkOf(sink),
          `${text}; check that a server is running, and whether its log says why the sink does not accept any`,
        ),
      );
    }
  }
  return findings.length > 0 ? findings : [ok("audit", "there is no audit stream; set `audit` to have one")];
}

const checkOf = (sink: string): string => `audit ${sink}`;

const WHEN_FULL: Record<AuditSettings["whenFull"], string> = {
  block: "the queue is full, and activities and votes are refused until the sink accepts some",
  drop: "the queue is full, and further lines are lost until the sink accepts some",
};

interface Waiting {
  sink: string;
  count: number;
  /** Milliseconds. */
  oldest: number;
}

/** Empty if the database does not answer, for which there is a separate finding, or if its version has no audit lines. */
async function waitingIn(databaseUrl: string, audit: AuditSettings | undefined): Promise<Waiting[]> {
  let inspection: Inspection | undefined;
  try {
    if (isMissing(databaseUrl)) return [];
    inspection = await openInspection(databaseUrl);
    const limit = (audit?.maxBacklog ?? 0) + 1;
    const found: Waiting[] = [];
    for (const sink of sinkNames) {
      const [row] = await inspection.all<{ count: number; oldest: number | null }>(
        `select count(*) as count, min(created_at) as oldest
           from (select created_at from audit_lines where sink = '${sink}' order by seq limit ${Math.max(limit, 10_000)}) as counted`,
      );
      if (row && row.oldest !== null) found.push({ sink, count: row.count, oldest: row.oldest });
    }
    return found;
  } catch (error) {
    if (error instanceof DatabaseFailure) return [];
    throw error;
  } finally {
    await inspection?.close();
  }
}

/** Opening a missing SQLite file would create it, and a database in memory is not the server's. */
function isMissing(databaseUrl: string): boolean {
  const file = sqliteFileOf(databaseUrl);
  return file === undefined ? databaseUrl.startsWith("sqlite:") : !existsSync(file);
}

async function checkSink(name: (typeof sinkNames)[number], { file, syslog, https }: AuditSettings): Promise<Finding> {
  const check = checkOf(name);
  if (name === "file" && file) return checkFile(check, file);
  if (name === "syslog" && syslog) return checkSyslog(check, syslog);
  return checkHttps(check, https as HttpsSettings);
}

function checkFile(check: string, { path, maxBytes, keep }: FileSettings): Finding {
  // The server creates missing folders.
  const place = nearestThere(path);
  try {
    accessSync(place, constants.W_OK);
  } catch {
    return fail(
      check,
      `this user cannot write to ${place}; make the server's user its owner, or set \`audit.file.path\` to another place`,
    );
  }
  if (existsSync(path) && !statSync(path).isFile())
    return fail(check, `${path} is not a file; set \`audit.file.path\` to another place`);
  return ok(
    check,
    `lines are written to ${path}; it and up to ${keep} full files take up to ${maxBytes * (keep + 1)} bytes`,
  );
}

async function checkSyslog(check: string, { address }: SyslogSettings): Promise<Finding> {
  const place = address.by === "unix" ? `unix:${address.path}` : `${address.by}://${address.host}:${address.port}`;
  if (address.by === "udp")
    return ok(check, `lines are sent to ${place}; with UDP, there is no confirmation that they arrive`);
  try {
    const channel = await openStream(address, AbortSignal.timeout(DOCTOR_STEP_MS));
    channel.end();
    return ok(check, `${place} accepts connections`);
  } catch (error) {
    return fail(check, `${place} ${sinkFailure(error).message}; check \`audit.syslog.address\``);
  }
}

async function checkHttps(check: string, { url }: HttpsSettings): Promise<Finding> {
  const client = clientFor({ url });
  const { host } = new URL(url);
  try {
    // Any answer will do: it shows that the sink can be reached.
    await client.request({ method: "HEAD", url, timeoutMs: DOCTOR_STEP_MS, maxResponseBytes: MAX_AUDIT_ANSWER_BYTES });
    return ok(check, `${host} answers`);
  } catch (error) {
    return fail(check, `${host} cannot be reached: ${(error as Error).message}; check \`audit.https.url\``);
  } finally {
    await client.close();
  }
}
