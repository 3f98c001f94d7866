import { hostname } from "node:os";
import { findMaintenance, type Maintenance, shownReason } from "../engine/maintenance.ts";
import type { Clock } from "../kernel/clock.ts";
import { newId } from "../kernel/ids.ts";
import { SERVER_FORGOTTEN_MS, SERVER_LOOK_MS, SERVER_SIGN_MS } from "../kernel/limits.ts";
import type { Logger } from "../kernel/log.ts";
import type { Database } from "../storage/database.ts";
import { DatabaseFailure } from "../storage/failure.ts";
import { version } from "./version.ts";

export type ServerState = "serving" | "maintenance" | "draining" | "draining in maintenance";

export interface PresenceOptions {
  database: Pick<Database, "read" | "transact">;
  clock: Clock;
  log: Logger;
  /** Called once, when an operator has told this server to drain. */
  onDrain: () => void;
}

/**
 * Says in the database that this server is there, and looks there for what operators tell the servers: that nothing is to be changed
 * for a while, and that this one is to be left alone. While the database does not tell, what it told last holds.
 */
export class Presence {
  readonly id = newId();
  readonly #options: PresenceOptions;
  #row: { url: string; startedAt: number } | undefined;
  #maintenance: Maintenance | undefined;
  #isDraining = false;
  /** What was said last, and when. */
  #said: { state: ServerState; at: number } | undefined;
  #saying: Promise<void> | undefined;
  #looking: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  readonly #away: Outage;
  readonly #unwritable: Outage;
  /** In a row, while the database was read. */
  #failedWrites = 0;
  #isClosed = false;

  constructor(options: PresenceOptions) {
    this.#options = options;
    const { log } = options;
    this.#away = new Outage(log, "the database is away; /readyz says why", "the database is there again");
    this.#unwritable = new Outage(
      log,
      "the database takes no writes; /readyz says why",
      "the database takes writes again",
    );
  }

  get maintenance(): Maintenance | undefined {
    return this.#maintenance;
  }

  get isDraining(): boolean {
    return this.#isDraining;
  }

  /** What operators told before holds from the first request on. */
  async begin(): Promise<void> {
    await this.#look();
  }

  /** @param url where this server listens */
  start(url: string): void {
    this.#row = { url, startedAt: this.#options.clock() };
    this.#go();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#looking;
    await this.#saying;
    await this.#options.database
      .transact(undefined, async (tx) => {
        await tx.deleteFrom("servers").where("id", "=", this.id).execute();
      })
      .catch(() => {});
  }

  #go(): void {
    this.#looking = this.#look()
      .then(
        () => this.#away.end(),
        (error: unknown) => this.#noteAway(error),
      )
      .finally(() => {
        this.#say();
        if (!this.#isClosed) this.#timer = setTimeout(() => this.#go(), SERVER_LOOK_MS).unref();
      });
  }

  async #look(): Promise<void> {
    const { database, log, onDrain } = this.#options;
    const [maintenance, own] = await Promise.all([
      findMaintenance(database.read),
      database.read.selectFrom("servers").select("is_draining").where("id", "=", this.id).executeTakeFirst(),
    ]);
    if (maintenance && !this.#maintenance) {
      const { since, reason, operator } = maintenance;
      log.warn({ since: new Date(since).toISOString(), reason, operator }, "maintenance: nothing is changed");
    } else if (!maintenance && this.#maintenance) log.warn("the maintenance is over");
    this.#maintenance = maintenance;
    if (own?.is_draining !== 1 || this.#isDraining) return;
    this.#isDraining = true;
    log.warn("draining: this server is not ready any more, and answers what still comes");
    onDrain();
  }

  #noteAway(error: unknown): void {
    // Too much that waits for it is told to those who wait.
    if (!(error instanceof DatabaseFailure) || this.#isClosed) return;
    this.#failedWrites = 0;
    this.#away.begin(error.told);
  }

  /** One that fails alone may be the first sign that the database is away. */
  #noteUnwritable(error: unknown): void {
    if (!(error instanceof DatabaseFailure) || this.#away.isOn || this.#isClosed) return;
    this.#failedWrites++;
    if (this.#failedWrites > 1) this.#unwritable.begin(error.told);
  }

  get #state(): ServerState {
    if (this.#isDraining) return this.#maintenance ? "draining in maintenance" : "draining";
    return this.#maintenance ? "maintenance" : "serving";
  }

  /** In the background: a database that takes no writes may still be read. */
  #say(): void {
    const state = this.#state;
    const now = this.#options.clock();
    const isKnown = this.#said?.state === state && now - this.#said.at < SERVER_SIGN_MS;
    if (isKnown || this.#saying || this.#isClosed) return;
    this.#saying = this.#write(state, now)
      .then(() => {
        this.#said = { state, at: now };
        this.#failedWrites = 0;
        this.#unwritable.end();
      })
      .catch((error: unknown) => this.#noteUnwritable(error))
      .finally(() => {
        this.#saying = undefined;
      });
  }

  async #write(state: ServerState, now: number): Promise<void> {
    const row = this.#row;
    if (!row) return;
    const { url, startedAt } = row;
    const about = { id: this.id, host: hostname(), pid: process.pid, version, url, started_at: startedAt };
    await this.#options.database.transact(undefined, async (tx) => {
      await tx
        .insertInto("servers")
        .values({ ...about, state, is_draining: 0, seen_at: now })
        .onConflict((conflict) => conflict.column("id").doUpdateSet({ state, seen_at: now }))
        .execute();
      // Those that died did not say so.
      await tx
        .deleteFrom("servers")
        .where("seen_at", "<", now - SERVER_FORGOTTEN_MS)
        .execute();
    });
  }
}

/** Something that lasts, of which the log tells when it begins and when it is over. */
class Outage {
  readonly #log: Logger;
  readonly #began: string;
  readonly #ended: string;
  /** In milliseconds of a clock that never goes back. */
  #since: number | undefined;

  constructor(log: Logger, began: string, ended: string) {
    this.#log = log;
    this.#began = began;
    this.#ended = ended;
  }

  get isOn(): boolean {
    return this.#since !== undefined;
  }

  begin(reason: string): void {
    if (this.#since !== undefined) return;
    this.#since = performance.now();
    this.#log.warn({ reason }, this.#began);
  }

  end(): void {
    if (this.#since === undefined) return;
    const seconds = Math.round((performance.now() - this.#since) / 1000);
    this.#since = undefined;
    this.#log.warn({ seconds }, this.#ended);
  }
}

/** What `/readyz` tells of a maintenance. */
export const shownMaintenance = (maintenance: Maintenance): string =>
  `since ${new Date(maintenance.since).toISOString()}${shownReason(maintenance)}; reads work, and whatever changes something answers 503`;
