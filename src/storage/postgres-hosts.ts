import pg from "pg";
import { hostsIn, type NamedHosts } from "./postgres-urls.ts";

const READ_ONLY =
  "select pg_is_in_recovery() or current_setting('default_transaction_read_only')::boolean as is_read_only";

/** @throws PostgreSQL's error for writes to a read-only server */
async function refuseReadOnly(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ is_read_only: boolean }>(READ_ONLY);
  if (rows[0]?.is_read_only) throw Object.assign(new Error("the server is in read-only mode"), { code: "25006" });
}

/** A server's cluster, and the timeline that it writes. A promoted server begins a timeline with a higher number. */
interface Timeline {
  cluster: string;
  number: number;
}

const TIMELINE = `select system_identifier::text as cluster, ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int as number
  from pg_control_system()`;

/** Undefined if the server does not tell, such as services that only speak PostgreSQL's protocol. */
const timelineOf = (client: pg.ClientBase): Promise<Timeline | undefined> =>
  client.query<Timeline>(TIMELINE).then(
    ({ rows }) => rows[0],
    () => undefined,
  );

/**
 * Selects which of several servers to connect to next, and remembers which one takes the writes. After a failover, connections to the old
 * one are discarded: it may be a standby now and return old data.
 */
export class PostgresHosts {
  readonly #hosts: NamedHosts;
  #next = 0;
  #serving: string | undefined;
  #timeline: Timeline | undefined;

  constructor(url: string) {
    this.#hosts = hostsIn(url);
  }

  get next(): string {
    return this.#hosts.urls[this.#next] as string;
  }

  get needsPrimary(): boolean {
    return this.#hosts.needsPrimary;
  }

  /**
   * Rejects standbys, and a former primary that returns after another server was promoted: its writes are lost once it has to follow the
   * new primary.
   *
   * @throws PostgreSQL's error for writes to a read-only server, or an error with the code KEYSTEAD_REPLACED
   */
  async refuseUnfit(client: pg.ClientBase): Promise<void> {
    if (!this.needsPrimary) return;
    await refuseReadOnly(client);
    this.noteTimeline(await timelineOf(client));
  }

  /** @throws if a later timeline is known */
  noteTimeline(found: Timeline | undefined): void {
    if (found === undefined) return;
    const known = this.#timeline;
    if (known !== undefined && known.cluster === found.cluster && known.number > found.number) {
      throw Object.assign(new Error("another server was promoted in the place of this one"), {
        code: "KEYSTEAD_REPLACED",
      });
    }
    this.#timeline = found;
  }

  /** A connection to the server failed. */
  giveUp(url: string): void {
    if (url === this.next) this.#next = (this.#next + 1) % this.#hosts.urls.length;
  }

  /** A connection to the server was made, and the server accepted writes if it has to. */
  noteServing(url: string): void {
    this.#serving = url;
  }

  /** Whether another server has replaced this one. */
  isLeft(url: string): boolean {
    return this.needsPrimary && this.#serving !== undefined && this.#serving !== url;
  }
}

/** Connects to the first suitable server of a URL. `open` creates a client that is not connected yet. */
export async function connectToOne<Client extends pg.Client>(
  url: string,
  open: (url: string) => Client,
): Promise<Client> {
  const { urls, needsPrimary } = hostsIn(url);
  const failures: unknown[] = [];
  for (const one of urls) {
    const client = open(one);
    try {
      await client.connect();
      if (needsPrimary) await refuseReadOnly(client);
      return client;
    } catch (error) {
      failures.push(error);
      await client.end().catch(() => {});
    }
  }
  throw failures[0];
}

/** A client that connects to the server whose turn it is. */
export const clientOf = (hosts: PostgresHosts) =>
  class extends pg.Client {
    readonly url: string;

    constructor(config?: pg.ClientConfig) {
      const url = hosts.next;
      super({ ...config, connectionString: url });
      this.url = url;
    }
  };
