import pg from "pg";
import { MINUTE_MS } from "../kernel/durations.ts";
import { certificateEnds } from "./certificates.ts";
import { isOutOfConnections, isOutOfRoom, translate } from "./failure.ts";
import { Places, type Use } from "./places.ts";
import { clientOf, type PostgresHosts } from "./postgres-hosts.ts";
import type { PostgresSettings } from "./postgres-settings.ts";

const INT8 = 20;
/** Our 64-bit integers are milliseconds and counts, all below 2^53. */
export const postgresTypes = {
  getTypeParser: (oid: number, format?: "text" | "binary") =>
    oid === INT8 ? Number : pg.types.getTypeParser(oid, format as "text"),
};

export const IDLE_TRANSACTION_MS = MINUTE_MS;

interface PoolOptions {
  hosts: PostgresHosts;
  settings: PostgresSettings;
  /** Told of connections that break while nobody uses them. */
  onError: (error: Error) => void;
  /** Told when somebody who needs a connection gets none, because PostgreSQL or the way to it gives none. */
  onRefused?: () => void;
}

export interface PoolFigures {
  inUse: number;
  idle: number;
  waiting: number;
  /** Of the certificates that a connection needs, when the first ends; without TLS there is none. */
  certificateEndsAt: number | undefined;
}

/** A few tries, as others may be refused at the same time. */
const MAX_REFUSALS = 3;

/** A number of connections to PostgreSQL. Who finds none free waits; who finds that PostgreSQL gives no more makes do with what there is. */
export class PostgresPool {
  readonly #hosts: PostgresHosts;
  readonly #pool: pg.Pool;
  readonly #places: Places;
  readonly #onRefused: () => void;
  /** Connections that were made before `renew` are not given out any more. */
  #current = new WeakSet<pg.PoolClient>();
  /** As the newest connection shows. */
  #certificateEndsAt: number | undefined;

  constructor({ hosts, settings, onError, onRefused = () => {} }: PoolOptions) {
    this.#onRefused = onRefused;
    const { connections, connectTimeoutMs, waitMs, statementTimeoutMs, prepared } = settings;
    this.#hosts = hosts;
    this.#places = new Places(connections, waitMs);
    const Client = clientOf(hosts);
    this.#pool = new pg.Pool({
      Client,
      max: connections,
      types: postgresTypes as pg.CustomTypesConfig,
      connectionTimeoutMillis: connectTimeoutMs,
      idleTimeoutMillis: MINUTE_MS,
      keepAlive: true,
      // What is asked on one connection is sent at once and answered in order.
      pipeline: true,
      application_name: "keystead",
      // Also ends the wait for a server that hangs.
      query_timeout: statementTimeoutMs,
      // Settings of a session. A transaction that lost its server must not keep its locks.
      ...(prepared
        ? { statement_timeout: statementTimeoutMs, idle_in_transaction_session_timeout: IDLE_TRANSACTION_MS }
        : {}),
      onConnect: async (client) => {
        await hosts.refuseUnfit(client);
        hosts.noteServing((client as InstanceType<typeof Client>).url);
      },
    });
    this.#pool.on("error", onError);
    // The pool listens to idle connections alone, and one that breaks in use would end the process; its query tells of it.
    this.#pool.on("connect", (client) => {
      client.on("error", () => {});
      this.#current.add(client);
      const ends = certificateEnds(client).map(({ endsAt }) => endsAt);
      this.#certificateEndsAt = ends.length === 0 ? undefined : Math.min(...ends);
    });
  }

  /** @throws DatabaseFailure, or KeysteadError where too much waits */
  async take(use: Use): Promise<pg.PoolClient> {
    for (let refusals = 0; ; refusals++) {
      await this.#places.take(use);
      try {
        return await this.#connect();
      } catch (error) {
        const others = this.#pool.totalCount;
        // A new session needs room on the disk; those that are there may go on without.
        const givesNoMore = isOutOfConnections(error as Error) || isOutOfRoom(error);
        const canWait = givesNoMore && others > 0 && refusals < MAX_REFUSALS;
        if (canWait) this.#places.shrinkTo(others);
        this.#places.giveBack(use);
        if (canWait) continue;
        this.#onRefused();
        throw translate(error);
      }
    }
  }

  giveBack(client: pg.PoolClient, use: Use, isBroken: boolean): void {
    client.release(isBroken);
    this.#places.giveBack(use);
  }

  /** Runs one statement, wherever there is room. */
  async query(statement: pg.QueryConfig): Promise<pg.QueryResult> {
    const client = await this.take("read");
    let isBroken = true;
    try {
      const result = await client.query(statement);
      isBroken = false;
      return result;
    } finally {
      this.giveBack(client, "read", isBroken);
    }
  }

  /** From now on it gives out new connections alone, which show whether there are any. */
  renew(): void {
    this.#current = new WeakSet();
  }

  figures(): PoolFigures {
    const { totalCount, idleCount: idle } = this.#pool;
    const certificateEndsAt = this.#certificateEndsAt;
    return { inUse: totalCount - idle, idle, waiting: this.#places.waiting, certificateEndsAt };
  }

  end(): Promise<void> {
    return this.#pool.end();
  }

  async #connect(): Promise<pg.PoolClient> {
    for (;;) {
      const { next } = this.#hosts;
      const client = await this.#pool.connect().catch((error: unknown) => {
        if (!isOutOfConnections(error as Error)) this.#hosts.giveUp(next);
        throw error;
      });
      const isLeft = this.#hosts.isLeft((client as pg.PoolClient & { url: string }).url);
      if (!isLeft && this.#current.has(client)) return client;
      client.release(true);
    }
  }
}
