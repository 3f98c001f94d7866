import { readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { Counter, Gauge, type Registry } from "prom-client";
import { type JobKind, reconciler } from "../../engine/jobs/jobs.ts";
import type { Clock } from "../../kernel/clock.ts";
import { DAY_MS, MINUTE_MS } from "../../kernel/durations.ts";
import { MAX_CLOCK_AHEAD_MS } from "../../kernel/limits.ts";
import type { Logger } from "../../kernel/log.ts";
import { makeFolder } from "../../kernel/make-folder.ts";
import { writeBackup } from "../../storage/backup/write-file.ts";
import { systemReason } from "../system-reason.ts";
import { version } from "../version.ts";
import { NEWEST_BACKUP_METRIC } from "./newest-metric.ts";
import type { BackupSchedule } from "./settings.ts";

const LOOK_MS = MINUTE_MS;
/** The longest pause after a failure before the next attempt. */
const MAX_PAUSE_MS = 10 * MINUTE_MS;
/** If nothing was written to a partial file for this long, its process was killed or hangs. */
const UNFINISHED_MS = 10 * MINUTE_MS;
const NAME = /^keystead-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z\.backup(\.age)?$/;
const PARTIAL_NAME = /^keystead-.*\.partial$/;

/**
 * Checks at intervals whether the newest backup in the folder is old enough for another one. The folder is the only state, so restarts neither
 * skip nor repeat a backup. A backup may take long, so it continues after the job that started it has ended. Other servers see that it runs by
 * its partial file.
 */
export class ScheduledBackups {
  readonly #schedule: BackupSchedule;
  readonly #url: string;
  readonly #log: Logger;
  readonly #clock: Clock;
  readonly #abort = new AbortController();
  #running: Promise<void> | undefined;
  /** A time of `performance.now()`, because setting the system clock back would make the pause longer. */
  #pausedUntil = Number.NEGATIVE_INFINITY;
  #failures = 0;
  #failed: { at: number; words: string } | undefined;

  constructor(schedule: BackupSchedule, { url, clock, log }: { url: string; clock: Clock; log: Logger }) {
    this.#schedule = schedule;
    this.#url = url;
    this.#clock = clock;
    this.#log = log;
  }

  readonly job: JobKind = reconciler({
    name: "back_up",
    everyMs: LOOK_MS,
    run: async () => {
      this.#beginIfDue(this.#clock());
      return undefined;
    },
  });

  measure(registry: Registry): void {
    const newest = () => newestBackup(this.#schedule, this.#clock());
    new Gauge({
      name: NEWEST_BACKUP_METRIC,
      help: "When the newest scheduled backup was begun; 0 while there is none.",
      registers: [registry],
      collect() {
        this.set(newest() / 1000);
      },
    });
    const failures = () => this.#failures;
    new Counter({
      name: "keystead_backup_failures_total",
      help: "Scheduled backups that failed.",
      registers: [registry],
      collect() {
        this.reset();
        this.inc(failures());
      },
    });
  }

  /** Describes the failure of the last backup, unless another server has made one since. The text is public. */
  problem(): string | undefined {
    if (!this.#failed) return undefined;
    const { at, words } = this.#failed;
    if (newestBackup(this.#schedule, this.#clock()) > at) return undefined;
    return `the scheduled backup of ${new Date(at).toISOString()} failed: ${words}`;
  }

  /** Aborts a running backup and removes its partial file. */
  async stop(): Promise<void> {
    this.#abort.abort();
    await this.#running;
  }

  #beginIfDue(now: number): void {
    const isDue = now >= newestBackup(this.#schedule, now) + this.#schedule.every * 1000;
    if (this.#running || this.#abort.signal.aborted || !isDue || performance.now() < this.#pausedUntil) return;
    if (isBeingWritten(this.#schedule.directory, now)) return;
    this.#running = this.#backUp(now).finally(() => {
      this.#running = undefined;
    });
  }

  async #backUp(now: number): Promise<void> {
    const { directory, encryptTo: recipient, every } = this.#schedule;
    const file = join(directory, nameAt(now, recipient !== undefined));
    const begunAt = performance.now();
    try {
      makeFolder(directory, 0o700);
      const { signal } = this.#abort;
      const { sha256, bytes } = await writeBackup({ url: this.#url, file, version, recipient, signal });
      this.#failed = undefined;
      this.#log.info({ file, bytes, sha256 }, "backed up");
    } catch (error) {
      if (this.#abort.signal.aborted) return;
      this.#failures++;
      this.#failed = { at: now, words: wordsOf(error as Error) };
      // Half the interval is over before the next backup is due, whichever way the looks of the job fall.
      this.#pausedUntil = begunAt + Math.min(MAX_PAUSE_MS, (every * 1000) / 2);
      this.#log.warn({ reason: (error as Error).message }, "a scheduled backup failed");
      return;
    }
    this.#removeOld(now);
  }

  /** Removes old backups. If that fails, the new backup is still valid. */
  #removeOld(now: number): void {
    const { directory, keep } = this.#schedule;
    try {
      for (const name of backupsIn(directory, now).slice(0, -keep)) rmSync(join(directory, name), { force: true });
      // Partial files of killed processes.
      for (const { file, idleMs } of partialsIn(directory, now)) if (idleMs > DAY_MS) rmSync(file, { force: true });
    } catch (error) {
      this.#log.warn({ reason: (error as Error).message }, "old backups could not be removed");
    }
  }
}

/** The error without paths and without messages of drivers, which are in the log. */
function wordsOf(error: Error): string {
  const cause = (error.cause ?? error) as NodeJS.ErrnoException;
  return cause.syscall === undefined ? "the log says why" : `it ${systemReason(cause)}`;
}

/** When the newest backup of a schedule was started, in milliseconds; 0 if there is none. */
export function newestBackup({ directory }: Pick<BackupSchedule, "directory">, now: number): number {
  const last = backupsIn(directory, now).at(-1);
  return last === undefined ? 0 : timeOf(last);
}

/**
 * From the oldest to the newest. Backups dated in the future, which remain after a wrong clock is corrected, are ignored until that time.
 * Otherwise no new backups would be made, and new ones would be deleted as the oldest.
 */
function backupsIn(directory: string, now: number): string[] {
  const isOfPast = (name: string): boolean => NAME.test(name) && timeOf(name) <= now + MAX_CLOCK_AHEAD_MS;
  return namesIn(directory).filter(isOfPast).sort();
}

const isBeingWritten = (directory: string, now: number): boolean =>
  partialsIn(directory, now).some(({ idleMs }) => Math.abs(idleMs) < UNFINISHED_MS);

/** Partial backups, and the time since the last write to each. */
function partialsIn(directory: string, now: number): { file: string; idleMs: number }[] {
  const files = namesIn(directory)
    .filter((name) => PARTIAL_NAME.test(name))
    .map((name) => join(directory, name));
  return files.flatMap((file) => {
    // Undefined if the backup was finished in the meantime.
    const stats = statSync(file, { throwIfNoEntry: false });
    return stats ? [{ file, idleMs: now - stats.mtimeMs }] : [];
  });
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    // The folder does not exist yet, or cannot be read; the next backup reports that.
    return [];
  }
}

function nameAt(now: number, isEncrypted: boolean): string {
  const time = new Date(now).toISOString().replace(/\.\d+Z$/, "Z");
  return `keystead-${time.replaceAll(/[-:]/g, "")}.backup${isEncrypted ? ".age" : ""}`;
}

function timeOf(name: string): number {
  const [, year, month, day, hour, minute, second] = NAME.exec(name) as unknown as string[];
  return Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
}
