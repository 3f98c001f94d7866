import { join } from "node:path";
import { createTestDatabase, startPostgres } from "../test/support/postgres.ts";
import { startTcpRelay, type TcpRelay } from "../test/support/tcp-relay.ts";
import { type Product, startLoad, startProduct } from "./processes.ts";
import { type BenchHooks, measureRound, type RoundOptions } from "./rounds.ts";
import { type ScenarioName, scenarioNames } from "./scenarios.ts";
import { median } from "./statistics.ts";

/** What requests cost where PostgreSQL is on another machine: everything to it and from it takes its time. */

/** Milliseconds for the way there and back. */
const DISTANCES = [0, 2, 10];

export interface DistanceBenchResult {
  scenario: ScenarioName;
  /** Milliseconds for the way there and back. */
  distanceMs: number;
  connections: number;
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
  /** How often the median request waited for the way there and back, against the nearest database; absent of that one. */
  waits?: number;
}

export async function benchDistance(options: RoundOptions, hooks: BenchHooks<DistanceBenchResult>): Promise<void> {
  const { folder, profileFolder } = options;
  const postgres = await startPostgres({ durable: true });
  hooks.onStart(() => postgres.stop());
  const products = new Map<number, Product>();
  for (const distanceMs of DISTANCES) {
    const url = new URL(await createTestDatabase(postgres.url, `distance_${distanceMs}`));
    const proxy = await startDistantProxy(Number(url.port), distanceMs);
    hooks.onStart(() => proxy.close());
    url.port = String(proxy.port);
    const product = await startProduct({
      folder: join(folder, `at-${distanceMs}`),
      databaseUrl: url.href,
      profileFolder,
    });
    hooks.onStart(() => product.stop());
    products.set(distanceMs, product);
  }
  for (const connections of new Set([1, options.connections])) {
    for (const scenario of scenarioNames) {
      const results = await measureScenario(scenario, connections, products, options, hooks);
      for (const result of results) hooks.report(result);
    }
  }
}

/** Each distance in turn, round by round. */
async function measureScenario(
  scenario: ScenarioName,
  connections: number,
  products: ReadonlyMap<number, Product>,
  options: RoundOptions,
  { onStart }: Pick<BenchHooks<DistanceBenchResult>, "onStart">,
): Promise<DistanceBenchResult[]> {
  const loads = [...products].map(([distanceMs, product]) => {
    const { subject, key } = product;
    const load = startLoad({ scenario, parties: [{ subject, key }], connections });
    onStart(() => load.stop());
    return { distanceMs, product, load, rounds: [] as Awaited<ReturnType<typeof measureRound>>[] };
  });
  for (let round = 0; round < options.rounds; round++) {
    for (const { load, product, rounds } of loads) rounds.push(await measureRound(load, product, options));
  }
  await Promise.all(loads.map(({ load }) => load.stop()));
  let nearest = Number.NaN;
  return loads.map(({ distanceMs, rounds }) => {
    const p50Ms = median(rounds.map((round) => round.p50Ms));
    if (distanceMs === 0) nearest = p50Ms;
    return {
      scenario,
      distanceMs,
      connections,
      perSecond: Math.round(median(rounds.map(({ perSecond }) => perSecond))),
      p50Ms: rounded(p50Ms),
      p99Ms: rounded(median(rounds.map((round) => round.p99Ms))),
      ...(distanceMs === 0 ? {} : { waits: rounded((p50Ms - nearest) / distanceMs) }),
    };
  });
}

const rounded = (value: number): number => Number(value.toFixed(1));

/** Passes on what comes, each way after half of the time. */
function startDistantProxy(targetPort: number, distanceMs: number): Promise<TcpRelay> {
  const later = (_chunk: Buffer, pass: () => void) => {
    if (distanceMs === 0) pass();
    else setTimeout(pass, distanceMs / 2);
  };
  return startTcpRelay(targetPort, () => ({ fromClient: later, fromTarget: later }));
}

/** One line, for programs or for people. */
export function lineOfDistance(result: DistanceBenchResult, json: boolean): string {
  if (json) return JSON.stringify(result);
  const { scenario, distanceMs, connections, perSecond, p50Ms, p99Ms, waits } = result;
  const times = waits === undefined ? "" : `; waits ${waits} times`;
  return `postgres ${distanceMs} ms away, ${connections} at a time, ${scenario} ${perSecond}/s; p50 ${p50Ms} ms, p99 ${p99Ms} ms${times}`;
}
