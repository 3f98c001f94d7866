import { median, percentile } from "./statistics.ts";

/** Work that is done one after the other in each of a few lanes, all lanes at once. */

export interface Pace {
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
}

/** Resolves to how long what counts of it took; milliseconds. */
export type Work<Lane> = (lane: Lane) => Promise<number>;

export async function timed(act: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await act();
  return performance.now() - start;
}

/** The first of each lane is not counted, and what was begun in time is. */
export async function paceOf<Lane>(lanes: readonly Lane[], work: Work<Lane>, seconds: number): Promise<Pace> {
  await Promise.all(lanes.map(work));
  const times: number[] = [];
  const start = performance.now();
  const isOver = () => performance.now() - start >= seconds * 1000;
  await Promise.all(
    lanes.map(async (lane) => {
      do times.push(await work(lane));
      while (!isOver());
    }),
  );
  const took = performance.now() - start;
  const sorted = Float64Array.from(times).sort();
  return {
    perSecond: (times.length * 1000) / took,
    p50Ms: percentile(sorted, 0.5),
    p99Ms: percentile(sorted, 0.99),
  };
}

/** What is reported of rounds: the medians, and the pace against the floor's. */
export function against(rounds: readonly Pace[], floors: readonly Pace[]): Pace & { floor: number; ratio: number } {
  const middle = (of: readonly Pace[], pick: (pace: Pace) => number) => Number(median(of.map(pick)).toFixed(1));
  const perSecond = middle(rounds, (pace) => pace.perSecond);
  const floor = middle(floors, (pace) => pace.perSecond);
  return {
    perSecond,
    p50Ms: middle(rounds, ({ p50Ms }) => p50Ms),
    p99Ms: middle(rounds, ({ p99Ms }) => p99Ms),
    floor,
    ratio: Number((perSecond / floor).toFixed(4)),
  };
}
