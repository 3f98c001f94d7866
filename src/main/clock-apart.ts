import type { Clock } from "../kernel/clock.ts";

/** By how many milliseconds a clock is ahead of this machine's: somewhere between the two. */
export interface ClocksApart {
  leastMs: number;
  mostMs: number;
}

/** Asks PostgreSQL for its time, which it read somewhere between the question and the answer. */
export async function askTime(
  ask: (sql: string) => Promise<readonly { now: number }[]>,
  machine: Clock,
): Promise<ClocksApart> {
  const before = machine();
  const rows = await ask("select (extract(epoch from clock_timestamp()) * 1000)::float8 as now");
  const after = machine();
  const theirs = rows[0]?.now ?? 0;
  return { leastMs: theirs - after, mostMs: theirs - before };
}

/** By how many milliseconds PostgreSQL's clock is ahead of this machine's for certain. */
export async function clockApartMs(
  ask: (sql: string) => Promise<readonly { now: number }[]>,
  machine: Clock,
): Promise<number> {
  const { leastMs, mostMs } = await askTime(ask, machine);
  return mostMs < 0 ? mostMs : Math.max(0, leastMs);
}
