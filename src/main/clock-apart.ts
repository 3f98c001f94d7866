import type { Clock } from "../kernel/clock.ts";

/**
 * By how many milliseconds PostgreSQL's clock is ahead of this machine's, as far as that can be told: it was read somewhere between the
 * question and the answer, and what lies between them is together.
 */
export async function clockApartMs(
  ask: (sql: string) => Promise<readonly { now: number }[]>,
  clock: Clock,
): Promise<number> {
  const before = clock();
  const rows = await ask("select (extract(epoch from clock_timestamp()) * 1000)::float8 as now");
  const after = clock();
  const theirs = rows[0]?.now ?? 0;
  return theirs < before ? theirs - before : Math.max(0, theirs - after);
}
