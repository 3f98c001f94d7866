import pg from "pg";
import { MINUTE_MS } from "../kernel/durations.ts";
import { certificateEnds } from "./certificates.ts";
import { isOutOfConnections, isOutOfRoom, translate } from "./failure.ts";
import { Places, type Use } from "./places.ts";
import { clientOf, type PostgresHosts } from "./postgres-hosts.ts";
import type { PostgresSettings } from "./postgres-settings.ts";

const INT8 = 20;
/** Keystead's 64-bit integers are milliseconds and counts, all below 2^53. */
export const postgresTypes = {
  getTypeParser: (oid: number, format?: "text" | "binary") =>
    oid === INT8 ? Number : pg.types.getTypeParser(oid, format as "text"),
};

export const IDLE_TRANSACTION_MS = MINUTE_MS;

interface PoolOptions {
  hosts: PostgresHosts;
  settings: PostgresSettings;
  /** Called when a connection breaks that nobody is using. */
  onError: (error: Error) => void;
  /** Called when a caller gets no connection because PostgreSQL or the network refuses it. */
  onRefused?: () => void;
}

export interface PoolFigures {
  inUse: number;
  idle: number;
  waiting: number;
  /** When the first of the certificates that a connection needs expires; undefined without TLS. */
  certificateEndsAt: number | undefined;
}

/** Several attempts, because others may be refused at the same time. */
const MAX_REFUSALS = 3;

/**
 * A pool of connections to PostgreSQL. If none is free, a caller waits; if PostgreSQL gives no more connections, the pool works with those
 * that it has.
 */
export class PostgresPool {
  readonly #hosts: PostgresHosts;
  readonly #pool: pg.Pool;
  readonly #places: Places;
  readonly #onRefused: () => void;
  /** The connections made since the last `renew`; older ones are not given out any more. */
  #current = new WeakSet<pg.PoolClient>();
  /** As found on the newest connection. */
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
      // Statements on one connection are sent at once and answered in order.
      pipeline: true,
      application_name: "keystead",
      // Also stops waiting for a server that hangs.
      query_timeout: statementTimeoutMs,
      // Session settings. A transaction whose server died must not keep its locks.
      ...(prepared
        ? { statement_timeout: statementTimeoutMs, idle_in_transaction_session_timeout: IDLE_TRANSACTION_MS }
        : {}),
      onConnect: async (client) => {
        await hosts.refuseUnfit(client);
        hosts.noteServing((client as InstanceType<typeof Client>).url);
      },
    });
    this.#pool.on("error", onError);
    // The pool listens for errors of idle connections only. An error of a connection in use would end the process; its query reports the error as
    // well.
    this.#pool.on("connect", (client) => {
      client.on("error", () => {});
      this.#current.add(client);
      const ends = certificateEnds(client).map(({ endsAt }) => endsAt);
      this.#certificateEndsAt = ends.length === 0 ? undefined : Math.min(...ends);
    });
  }

  /** @throws DatabaseFailure, or KeysteadError if too many callers wait */
  async take(use: Use): Promise<pg.PoolClient> {
    for (let refusals = 0; ; refusals++) {
      await this.#places.take(use);
      try {
        return await this.#connect();
      } catch (error) {
        const others = this.#pool.totalCount;
        // A new session needs disk space; existing sessions may continue without.
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

  /** Runs one statement on any free connection. */
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

  /** From now on gives out new connections only, which shows whether connections can be made. */
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
