import type { Clock } from "../kernel/clock.ts";

/** Bounds for the number of milliseconds by which a clock is ahead of this machine's. */
export interface ClocksApart {
  leastMs: number;
  mostMs: number;
}

/** Reads PostgreSQL's time, which it determined at some moment between the query and its answer. */
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

/** The number of milliseconds by which PostgreSQL's clock is certainly ahead of this machine's. */
export async function clockApartMs(
  ask: (sql: string) => Promise<readonly { now: number }[]>,
  machine: Clock,
): Promise<number> {
  const { leastMs, mostMs } = await askTime(ask, machine);
  return mostMs < 0 ? mostMs : Math.max(0, leastMs);
}
