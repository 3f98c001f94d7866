import type { PostgresConnection } from "./postgres.ts";

/** After so many commits tables that were empty have grown to where another index is the better one. */
const COMMITS_BEFORE = [100, 1_000, 10_000];
/** Rows, as the last statistics tell; of larger tables PostgreSQL's own are near enough to the truth. */
const LARGEST = 100_000;

const GROWING_TABLES = `
  select c.oid::regclass::text as name from pg_class c
  where c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace and c.reltuples < ${LARGEST}`;

/**
 * PostgreSQL chooses indexes by statistics, which it takes by itself only a minute after a table grew. A new installation
 * grows from nothing within that minute, on plans that were made for empty tables; so its statistics are taken as commits
 * add up.
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

  /** Begins no more of them; resolves when those of the table that is under way are taken. */
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
      // They only make it faster, and PostgreSQL comes to it by itself.
    }
  }
}
