import pg from "pg";
import { hostsIn, type NamedHosts } from "./postgres-urls.ts";

const READ_ONLY =
  "select pg_is_in_recovery() or current_setting('default_transaction_read_only')::boolean as is_read_only";

/** @throws the error with which PostgreSQL refuses writes */
async function refuseReadOnly(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ is_read_only: boolean }>(READ_ONLY);
  if (rows[0]?.is_read_only) throw Object.assign(new Error("the server is in read-only mode"), { code: "25006" });
}

/** Of which cluster a server is, and which of its histories it writes: whoever is promoted begins one with a higher number. */
interface Timeline {
  cluster: string;
  number: number;
}

const TIMELINE = `select system_identifier::text as cluster, ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int as number
  from pg_control_system()`;

/** Undefined where it is not told, as by services that only speak like PostgreSQL. */
const timelineOf = (client: pg.ClientBase): Promise<Timeline | undefined> =>
  client.query<Timeline>(TIMELINE).then(
    ({ rows }) => rows[0],
    () => undefined,
  );

/**
 * Which of several servers the next connection is tried with, and which of them takes the writes. When that one is another than before,
 * connections to the one before are of no use: it may be a standby now, and tell of the past.
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
   * A primary that comes back after another was promoted takes writes that are lost when it has to follow.
   *
   * @throws the error with which PostgreSQL refuses writes, or one of the code KEYSTEAD_REPLACED
   */
  async refuseUnfit(client: pg.ClientBase): Promise<void> {
    if (!this.needsPrimary) return;
    await refuseReadOnly(client);
    this.noteTimeline(await timelineOf(client));
  }

  /** @throws where there was a later one */
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

  /** A connection to it did not come about. */
  giveUp(url: string): void {
    if (url === this.next) this.#next = (this.#next + 1) % this.#hosts.urls.length;
  }

  /** A connection to it is there, and does what is asked of it. */
  noteServing(url: string): void {
    this.#serving = url;
  }

  /** Whether another server has taken its place. */
  isLeft(url: string): boolean {
    return this.needsPrimary && this.#serving !== undefined && this.#serving !== url;
  }
}

/** Connects to the first server of a URL that will do. `open` makes a client that is not connected yet. */
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

/** A client that connects to whichever server is next. */
export const clientOf = (hosts: PostgresHosts) =>
  class extends pg.Client {
    readonly url: string;

    constructor(config?: pg.ClientConfig) {
      const url = hosts.next;
      super({ ...config, connectionString: url });
      this.url = url;
    }
  };
