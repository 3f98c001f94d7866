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
import type { BackupSchedule } from "./settings.ts";

const LOOK_MS = MINUTE_MS;
/** After a failure, before the next try. */
const PAUSE_MS = 10 * MINUTE_MS;
/** A file that nothing was written to for so long is not being written: its process was killed, or hangs. */
const UNFINISHED_MS = 10 * MINUTE_MS;
const NAME = /^keystead-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z\.backup(\.age)?$/;
const PARTIAL_NAME = /^keystead-.*\.partial$/;

/**
 * Looks now and then whether the newest backup in the folder is old enough for another one. The folder is all that it remembers,
 * so that restarts neither skip nor double a backup. A backup goes on beside the job that began it, as it may take long; other
 * servers see by its unfinished file that it does.
 */
export class ScheduledBackups {
  readonly #schedule: BackupSchedule;
  readonly #url: string;
  readonly #log: Logger;
  readonly #clock: Clock;
  readonly #abort = new AbortController();
  #running: Promise<void> | undefined;
  /** Of `performance.now()`: a clock that is set back would make the pause longer. */
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
      name: "keystead_backup_last_success_timestamp_seconds",
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

  /** That the last one failed, unless another server has made one since. Anybody may read it. */
  problem(): string | undefined {
    if (!this.#failed) return undefined;
    const { at, words } = this.#failed;
    if (newestBackup(this.#schedule, this.#clock()) > at) return undefined;
    return `the scheduled backup of ${new Date(at).toISOString()} failed: ${words}`;
  }

  /** Gives up the backup that is under way; nothing is left of it. */
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
    const { directory, encryptTo: recipient } = this.#schedule;
    const file = join(directory, nameAt(now, recipient !== undefined));
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
      this.#pausedUntil = performance.now() + PAUSE_MS;
      this.#log.warn({ reason: (error as Error).message }, "a scheduled backup failed");
      return;
    }
    this.#removeOld(now);
  }

  /** The backup is there all the same where it cannot. */
  #removeOld(now: number): void {
    const { directory, keep } = this.#schedule;
    try {
      for (const name of backupsIn(directory, now).slice(0, -keep)) rmSync(join(directory, name), { force: true });
      // Of processes that were killed.
      for (const { file, idleMs } of partialsIn(directory, now)) if (idleMs > DAY_MS) rmSync(file, { force: true });
    } catch (error) {
      this.#log.warn({ reason: (error as Error).message }, "old backups could not be removed");
    }
  }
}

/** Without paths, and without what a driver says, which the log has. */
function wordsOf(error: Error): string {
  const cause = (error.cause ?? error) as NodeJS.ErrnoException;
  return cause.syscall === undefined ? "the log says why" : `it ${systemReason(cause)}`;
}

/** When the newest backup of a schedule was begun, in milliseconds; 0 where there is none. */
export function newestBackup({ directory }: Pick<BackupSchedule, "directory">, now: number): number {
  const last = backupsIn(directory, now).at(-1);
  return last === undefined ? 0 : timeOf(last);
}

/**
 * From the oldest to the newest. Those of a time that has not come, as clocks that are put right leave behind, do not count until then:
 * they would keep backups from being made, and those that are made from being kept.
 */
function backupsIn(directory: string, now: number): string[] {
  const isOfPast = (name: string): boolean => NAME.test(name) && timeOf(name) <= now + MAX_CLOCK_AHEAD_MS;
  return namesIn(directory).filter(isOfPast).sort();
}

const isBeingWritten = (directory: string, now: number): boolean =>
  partialsIn(directory, now).some(({ idleMs }) => Math.abs(idleMs) < UNFINISHED_MS);

/** Unfinished backups, and for how long nothing was written to them. */
function partialsIn(directory: string, now: number): { file: string; idleMs: number }[] {
  const files = namesIn(directory)
    .filter((name) => PARTIAL_NAME.test(name))
    .map((name) => join(directory, name));
  return files.flatMap((file) => {
    // Missing where it was finished in between.
    const stats = statSync(file, { throwIfNoEntry: false });
    return stats ? [{ file, idleMs: now - stats.mtimeMs }] : [];
  });
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    // It is not there yet, or cannot be read, which the next backup will tell.
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
