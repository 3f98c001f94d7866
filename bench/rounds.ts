import { join } from "node:path";
import type { DatabaseKind } from "../src/storage/engine.ts";
import { createTestDatabase, startPostgres } from "../test/support/postgres.ts";
import { cpuSeconds } from "./cpu.ts";
import { type Load, type Product, startProduct } from "./processes.ts";

/** What benchmarks of one server against itself have in common. */

export interface RoundOptions {
  engines: readonly DatabaseKind[];
  rounds: number;
  /** Of each round. */
  seconds: number;
  connections: number;
  /** New; for databases and logs. */
  folder: string;
  profileFolder: string | undefined;
}

/** Is told what to undo if the benchmark is interrupted. */
type OnStart = (undo: () => unknown) => void;

/** Takes each result as it comes. */
export interface BenchHooks<Result> {
  report: (result: Result) => void;
  onStart: OnStart;
}

export interface Started extends Product {
  /** Of PostgreSQL. */
  databasePid: number | undefined;
}

/** A server with an empty database of that name. */
export async function startServer(
  engine: DatabaseKind,
  name: string,
  { folder, profileFolder, settings = {} }: RoundOptions & { settings?: Record<string, string> },
  onStart: OnStart,
): Promise<Started> {
  let databaseUrl = `sqlite:${join(folder, `${name}.db`)}`;
  let databasePid: number | undefined;
  if (engine === "postgres") {
    const postgres = await startPostgres({ durable: true });
    onStart(() => postgres.stop());
    databasePid = postgres.pid;
    databaseUrl = await createTestDatabase(postgres.url, name);
  }
  const product = await startProduct({ folder: join(folder, engine), databaseUrl, profileFolder, settings });
  onStart(() => product.stop());
  return { ...product, databasePid };
}

export interface Round {
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
  /** Milliseconds of the server's and the signer's CPU per 1,000 requests. */
  cpuMs: number;
}

/** Requests a second that are prepared for. */
const PREPARED_PER_SECOND = 9000;

/** A round begins with this share of its length unmeasured, up to a second. */
const WARM_UP_SHARE = 1 / 3;
const MAX_WARM_UP_SECONDS = 1;

export const warmUpSeconds = (seconds: number): number => Math.min(MAX_WARM_UP_SECONDS, seconds * WARM_UP_SHARE);

export async function measureRound(
  load: Load,
  { pid, port }: Product,
  { seconds }: Pick<RoundOptions, "seconds">,
): Promise<Round> {
  await load.prepare(Math.ceil(PREPARED_PER_SECOND * (seconds + warmUpSeconds(seconds))));
  let [before, after] = [0, 0];
  const result = await load.run(
    { port, warmUpMs: warmUpSeconds(seconds) * 1000, measureMs: seconds * 1000 },
    {
      onStart: () => {
        before = cpuSeconds(pid);
      },
      onEnd: () => {
        after = cpuSeconds(pid);
      },
    },
  );
  const { requests, p50Ms, p99Ms } = result;
  return { perSecond: requests / result.seconds, p50Ms, p99Ms, cpuMs: ((after - before) * 1e6) / requests };
}

/** The one and the other, each round beginning with the other one: what is measured second is measured on a warmer machine. */
export async function inTurns<R>(rounds: number, measure: (side: 0 | 1) => Promise<R>): Promise<[R, R][]> {
  const pairs: [R, R][] = [];
  for (let round = 0; round < rounds; round++) {
    const [first, second] = round % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const);
    const pair: R[] = [];
    pair[first] = await measure(first);
    pair[second] = await measure(second);
    pairs.push(pair as [R, R]);
  }
  return pairs;
}
