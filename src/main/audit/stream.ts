import type { ActivityChange } from "../../engine/activities/ballot.ts";
import type { RefusedAuthentication, RequestAudit } from "../../engine/request-audit.ts";
import type { Clock } from "../../kernel/clock.ts";
import { failForNow } from "../../kernel/errors.ts";
import { newId } from "../../kernel/ids.ts";
import { AUDIT_BLOCKED_SECONDS, REFUSAL_LINES } from "../../kernel/limits.ts";
import type { Logger } from "../../kernel/log.ts";
import { TokenBuckets } from "../../kernel/token-buckets.ts";
import { INSTALLATION } from "../../signer/protocol.ts";
import type { Database } from "../../storage/database.ts";
import type { Transactor } from "../../storage/engine.ts";
import { FileSink } from "./file-sink.ts";
import { HttpsSink } from "./https-sink.ts";
import { lineOfChange, lineOfRefusal, lineOfRestore } from "./lines.ts";
import { addLine, type QueuedLine } from "./queue.ts";
import { type AuditSettings, type SinkName, sinkNamesOf } from "./settings.ts";
import { Shipper } from "./shipper.ts";
import type { Sink } from "./sink.ts";
import { SyslogSink } from "./syslog-sink.ts";

export interface AuditStreamOptions {
  settings: AuditSettings;
  database: Database;
  leaseMs: number;
  clock: Clock;
  log: Logger;
}

/** Stores a line of an activity's new status for each sink, in the transaction that stores the status. */
export async function recordChange(tx: Transactor, sinks: readonly SinkName[], change: ActivityChange): Promise<void> {
  const { activity, now } = change;
  await addLines(tx, sinks, { organizationId: activity.organizationId, line: lineOfChange(change), now });
}

/** Stores a line about the whole installation for each sink, in the transaction of what it reports. */
export const recordOfInstallation = (
  tx: Transactor,
  sinks: readonly SinkName[],
  line: string,
  now: number,
): Promise<void> => addLines(tx, sinks, { organizationId: INSTALLATION, line, now });

async function addLines(tx: Transactor, sinks: readonly SinkName[], line: Omit<QueuedLine, "sink">): Promise<void> {
  await Promise.all(sinks.map((sink) => addLine(tx, { ...line, sink })));
}

/** The audit stream of a server: records lines and delivers them to the sinks. */
export class AuditStream implements RequestAudit {
  readonly shippers: readonly Shipper[];
  readonly #settings: AuditSettings;
  readonly #clock: Clock;
  readonly #refusals = new TokenBuckets(REFUSAL_LINES, 1, () => performance.now());
  #leftOut = 0;

  constructor({ settings, database, leaseMs, clock, log }: AuditStreamOptions) {
    this.#settings = settings;
    this.#clock = clock;
    // A SQLite database has only one server. With a fixed name, it can resume at once after a kill, despite its old lease.
    const owner = database.kind === "sqlite" ? "server" : newId();
    const { maxBacklog } = settings;
    this.shippers = sinkNamesOf(settings).map((name) => {
      const sink = sinkOf(name, settings);
      return new Shipper({ name, sink, database, owner, leaseMs, maxBacklog, clock, log });
    });
  }

  get whenFull(): AuditSettings["whenFull"] {
    return this.#settings.whenFull;
  }

  /** The number of rejected authentications without a line of their own. */
  get leftOut(): number {
    return this.#leftOut;
  }

  async start(): Promise<void> {
    await Promise.all(this.shippers.map((shipper) => shipper.start()));
  }

  async stop(): Promise<void> {
    await Promise.all(this.shippers.map((shipper) => shipper.stop()));
  }

  async record(tx: Transactor, change: ActivityChange): Promise<void> {
    const full = this.whenFull === "drop" ? this.shippers.filter(({ isFull }) => isFull) : [];
    const others = this.shippers.filter((shipper) => !full.includes(shipper));
    tx.afterCommit(() => {
      for (const shipper of full) shipper.noteDropped();
      for (const shipper of others) shipper.noteCommitted();
    });
    const names = others.map(({ name }) => name);
    if (names.length > 0) await recordChange(tx, names, change);
  }

  async recordRestore(tx: Transactor, now: number): Promise<void> {
    await recordOfInstallation(tx, sinkNamesOf(this.#settings), lineOfRestore(now), now);
  }

  /** Above the rate limit, rejections are only counted, so that a flood of them does not displace the lines of activities. */
  refused(refusal: RefusedAuthentication): void {
    const now = this.#clock();
    const line = this.#refusals.take("all", 1) === 0 ? lineOfRefusal(refusal, now) : undefined;
    let isLeftOut = false;
    for (const { memory } of this.shippers) {
      if (line !== undefined && memory.add(line)) continue;
      memory.leaveOut("authentications_left_out", now);
      isLeftOut = true;
    }
    if (isLeftOut) this.#leftOut++;
    else for (const shipper of this.shippers) shipper.wake();
  }

  refuseWhenFull(): void {
    if (this.whenFull !== "block") return;
    const full = this.shippers.find(({ isFull }) => isFull);
    if (!full) return;
    failForNow("AUDIT_BACKLOG_FULL", { count: full.backlog, sink: full.name }, AUDIT_BLOCKED_SECONDS);
  }
}

function sinkOf(name: SinkName, { file, syslog, https }: AuditSettings): Sink {
  if (name === "file" && file) return new FileSink(file);
  if (name === "syslog" && syslog) return new SyslogSink(syslog);
  if (name === "https" && https) return new HttpsSink(https);
  throw new Error(`there are no settings of the audit sink ${name}`);
}
