import type { PostgresConnection } from "./postgres.ts";

/** After these numbers of commits, tables that were empty have grown so much that another index is better. */
const COMMITS_BEFORE = [100, 1_000, 10_000];
/** Rows, according to the last statistics. For larger tables PostgreSQL's own statistics are accurate enough. */
const LARGEST = 100_000;

const GROWING_TABLES = `
  select c.oid::regclass::text as name from pg_class c
  where c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace and c.reltuples < ${LARGEST}`;

/**
 * PostgreSQL chooses indexes by statistics, which it updates only a minute after a table has grown. A new installation grows from nothing
 * within that minute, with plans that were made for empty tables. So this updates the statistics as commits add up.
 */
export class GrowingStatistics {
  readonly #connection: Pick<PostgresConnection, "all" | "exec">;
  #commits = 0;
  #underWay: Promise<void> = Promise.resolve();
  #isEnding = false;

  constructor(connection: Pick<PostgresConnection, "all" | "exec">) {
    this.#connection = connection;
  }

  noteCommit(): void {
    if (this.#isEnding) return;
    this.#commits++;
    if (COMMITS_BEFORE.includes(this.#commits)) this.#underWay = this.#underWay.then(() => this.#take());
  }

  /** Starts no further updates; resolves when the one in progress is done. */
  ended(): Promise<void> {
    this.#isEnding = true;
    return this.#underWay;
  }

  async #take(): Promise<void> {
    try {
      const tables = await this.#connection.all<{ name: string }>(GROWING_TABLES, []);
      for (const { name } of tables) {
        if (this.#isEnding) return;
        await this.#connection.exec(`analyze ${name}`);
      }
    } catch {
      // Statistics only improve speed, and PostgreSQL updates them itself later.
    }
  }
}
