import { hostname } from "node:os";
import { findMaintenance, type Maintenance, shownReason } from "../engine/maintenance.ts";
import type { Clock } from "../kernel/clock.ts";
import { newId } from "../kernel/ids.ts";
import { SERVER_FORGOTTEN_MS, SERVER_LOOK_MS, SERVER_SIGN_MS } from "../kernel/limits.ts";
import type { Logger } from "../kernel/log.ts";
import type { Database } from "../storage/database.ts";
import { DatabaseFailure } from "../storage/failure.ts";
import type { RootKeyFollower } from "./root-key/follower.ts";
import { version } from "./version.ts";

export type ServerState = "serving" | "maintenance" | "draining" | "draining in maintenance";

export interface PresenceOptions {
  database: Pick<Database, "read" | "transact">;
  clock: Clock;
  log: Logger;
  rootKeys: Pick<RootKeyFollower, "look" | "said">;
  /** Called once, when an operator tells this server to drain. */
  onDrain: () => void;
}

/**
 * Registers this server in the database with heartbeats, and polls there for the operators' commands: to refuse changes during a maintenance,
 * to drain this server, and to follow a rotation of the root key. While the database does not answer, the last commands stay in effect.
 */
export class Presence {
  readonly id = newId();
  readonly #options: PresenceOptions;
  #row: { url: string; startedAt: number } | undefined;
  #maintenance: Maintenance | undefined;
  #isDraining = false;
  /** The last heartbeat's state and time. */
  #said: { state: ServerState; rootKeys: string; at: number } | undefined;
  #saying: Promise<void> | undefined;
  #looking: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  readonly #away: Outage;
  readonly #unwritable: Outage;
  /** Consecutive failed writes while reads succeeded. */
  #failedWrites = 0;
  #isClosed = false;

  constructor(options: PresenceOptions) {
    this.#options = options;
    const { log } = options;
    this.#away = new Outage(log, "the database is unavailable; /readyz says why", "the database is available again");
    this.#unwritable = new Outage(
      log,
      "the database does not accept writes; /readyz says why",
      "the database accepts writes again",
    );
  }

  get maintenance(): Maintenance | undefined {
    return this.#maintenance;
  }

  get isDraining(): boolean {
    return this.#isDraining;
  }

  /** Reads the current commands, so that they apply from the first request on. */
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
    const { database, log, onDrain, rootKeys } = this.#options;
    const [maintenance, own] = await Promise.all([
      findMaintenance(database.read),
      database.read.selectFrom("servers").select("is_draining").where("id", "=", this.id).executeTakeFirst(),
      rootKeys.look(),
    ]);
    if (maintenance && !this.#maintenance) {
      const { since, reason, operator } = maintenance;
      log.warn({ since: new Date(since).toISOString(), reason, operator }, "maintenance began: changes are refused");
    } else if (!maintenance && this.#maintenance) log.warn("maintenance has ended");
    this.#maintenance = maintenance;
    if (own?.is_draining !== 1 || this.#isDraining) return;
    this.#isDraining = true;
    log.warn("draining: this server reports that it is not ready, but still answers requests");
    onDrain();
  }

  #noteAway(error: unknown): void {
    // Other errors mean an overloaded database, which the waiting requests are told.
    if (!(error instanceof DatabaseFailure) || this.#isClosed) return;
    this.#failedWrites = 0;
    this.#away.begin(error.driverMessage);
  }

  /** A single failed write may be the first sign of an unavailable database, so it takes two. */
  #noteUnwritable(error: unknown): void {
    if (!(error instanceof DatabaseFailure) || this.#away.isOn || this.#isClosed) return;
    this.#failedWrites++;
    if (this.#failedWrites > 1) this.#unwritable.begin(error.driverMessage);
  }

  get #state(): ServerState {
    if (this.#isDraining) return this.#maintenance ? "draining in maintenance" : "draining";
    return this.#maintenance ? "maintenance" : "serving";
  }

  /** Sends a heartbeat in the background, because reads may work even if writes hang. */
  #say(): void {
    const state = this.#state;
    const now = this.#options.clock();
    const rootKeys = JSON.stringify(this.#options.rootKeys.said);
    const said = this.#said;
    const isKnown = said?.state === state && said.rootKeys === rootKeys && now - said.at < SERVER_SIGN_MS;
    if (isKnown || this.#saying || this.#isClosed) return;
    this.#saying = this.#write(state, rootKeys, now)
      .then(() => {
        this.#said = { state, rootKeys, at: now };
        this.#failedWrites = 0;
        this.#unwritable.end();
      })
      .catch((error: unknown) => this.#noteUnwritable(error))
      .finally(() => {
        this.#saying = undefined;
      });
  }

  async #write(state: ServerState, rootKeys: string, now: number): Promise<void> {
    const row = this.#row;
    if (!row) return;
    const { url, startedAt } = row;
    const about = { id: this.id, host: hostname(), pid: process.pid, version, url, started_at: startedAt };
    const said = { state, root_keys: rootKeys, seen_at: now };
    await this.#options.database.transact(undefined, async (tx) => {
      await tx
        .insertInto("servers")
        .values({ ...about, ...said, is_draining: 0 })
        .onConflict((conflict) => conflict.column("id").doUpdateSet(said))
        .execute();
      // Servers that died did not remove their rows.
      await tx
        .deleteFrom("servers")
        .where("seen_at", "<", now - SERVER_FORGOTTEN_MS)
        .execute();
    });
  }
}

/** A condition whose begin and end are logged. */
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
  `since ${new Date(maintenance.since).toISOString()}${shownReason(maintenance)}; reads work, but changes get 503`;
