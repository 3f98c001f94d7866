import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, statfsSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import pg from "pg";
import { createTestDatabase, startPostgres } from "../test/support/postgres.ts";
import { benchChains, lineOfChains } from "./chains.ts";
import { benchConsole, lineOfConsole } from "./console.ts";
import { cpuSeconds, machineCpuSeconds } from "./cpu.ts";
import { benchDistance, lineOfDistance } from "./distance.ts";
import type { FloorKind } from "./floor.ts";
import { benchMany, lineOfMany } from "./many.ts";
import { benchOperations, lineOfOperations, operationsParts } from "./operations.ts";
import { benchPolicies, lineOfPolicies } from "./policies.ts";
import {
  answerBytesOf,
  type Load,
  type Product,
  startFloor,
  startLoad,
  startProduct,
  type Target,
} from "./processes.ts";
import { jsonLine, type Machine, type ScenarioReport, type Side, table } from "./report.ts";
import { type BenchHooks, warmUpSeconds } from "./rounds.ts";
import { type ScenarioName, scenarioNames } from "./scenarios.ts";
import { benchSignin, lineOfSignin } from "./signin.ts";
import { benchSigning, lineOfSigning } from "./signing.ts";
import { benchSpark, lineOfSpark } from "./spark.ts";
import { median } from "./statistics.ts";
import { benchSwaps, lineOfSwaps } from "./swaps.ts";
import { benchWebhooks, lineOf } from "./webhooks.ts";
import { benchYears, lineOfYears } from "./years.ts";

/**
 * `npm run bench`: the real server against two floors, on SQLite and PostgreSQL. They take turns in short rounds and the
 * medians count, because what else the machine does changes from second to second.
 */

const groups = [
  "chains",
  "console",
  "distance",
  "many",
  "operations",
  "policies",
  "signin",
  "signing",
  "spark",
  "swaps",
  "webhooks",
  "years",
] as const;
type Group = (typeof groups)[number];

const engineNames = ["sqlite", "postgres"] as const;
type EngineName = (typeof engineNames)[number];

/** Requests a second that are prepared for before anything is known; a faster server runs out, and that is said. */
const FIRST_GUESS_PER_SECOND = 11_000;
/** Room above the fastest round so far. */
const HEADROOM = 1.4;
/** About 1.2 kB each. */
const MAX_PREPARED = 400_000;

interface Options {
  json: boolean;
  seconds: number;
  rounds: number;
  connections: number;
  engines: readonly EngineName[];
  scenarios: readonly ScenarioName[];
  profileFolder: string | undefined;
  /** The most that the watcher of `chains` looks for. */
  addresses: number;
  /** In the list that `console` looks at, or of `years`. */
  activities: number;
  /** Of `years`. */
  tenants: number;
  /** To how many further pages of it `console` scrolls. */
  pages: number;
  /** Of `operations`. */
  parts: readonly (typeof operationsParts)[number][];
  /** That ask at the same time in `many`. */
  parties: number;
  /** In the backup of `operations`. */
  keys: number;
  /** Another group of scenarios instead. */
  group: Group | undefined;
}

const USAGE = `usage: npm run bench -- [--json] [--seconds <n>] [--rounds <n>] [--connections <n>] [--profile <folder>]
                        [sqlite] [postgres] [read] [write] [sign]
       npm run bench -- chains [--json] [--seconds <n>] [--rounds <n>] [--addresses <n>] [sqlite] [postgres]
       npm run bench -- console [--json] [--rounds <n>] [--activities <n>] [--pages <n>] [sqlite] [postgres]
       npm run bench -- distance [--json] [--seconds <n>] [--rounds <n>] [--connections <n>]
       npm run bench -- many [--json] [--seconds <n>] [--rounds <n>] [--connections <n>] [--parties <n>] [sqlite] [postgres]
       npm run bench -- operations [--json] [--seconds <n>] [--rounds <n>] [--connections <n>] [--keys <n>] [sqlite] [postgres]
                        [cost] [backup] [noise]
       npm run bench -- policies [--json] [--seconds <n>] [--rounds <n>] [--connections <n>] [sqlite] [postgres]
       npm run bench -- signin [--json] [--seconds <n>] [--rounds <n>] [--connections <n>] [sqlite] [postgres]
       npm run bench -- signing [--json] [--seconds <n>] [--rounds <n>] [--connections <n>] [sqlite] [postgres]
       npm run bench -- spark [--json] [--seconds <n>] [--rounds <n>] [sqlite] [postgres]
       npm run bench -- swaps [--json] [--seconds <n>] [--rounds <n>] [sqlite] [postgres]
       npm run bench -- webhooks [--json] [--rounds <n>] [sqlite] [postgres]
       npm run bench -- years [--json] [--seconds <n>] [--rounds <n>] [--connections <n>] [--activities <n>] [--tenants <n>] [sqlite] [postgres]`;

function readOptions(): Options {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      json: { type: "boolean", default: false },
      seconds: { type: "string", default: "3" },
      rounds: { type: "string", default: "3" },
      connections: { type: "string", default: "64" },
      addresses: { type: "string", default: "1000000" },
      activities: { type: "string", default: "10000" },
      tenants: { type: "string", default: "0" },
      pages: { type: "string", default: "200" },
      keys: { type: "string", default: "2000" },
      parties: { type: "string", default: "500" },
      profile: { type: "string" },
    },
  });
  const words: readonly string[] = [...engineNames, ...scenarioNames, ...groups, ...operationsParts];
  const unknown = positionals.find((word) => !words.includes(word));
  if (unknown !== undefined) throw new Error(`${unknown} is neither an engine nor a scenario`);
  const chosen = <T extends string>(names: readonly T[]) => {
    const named = names.filter((name) => positionals.includes(name));
    return named.length > 0 ? named : names;
  };
  return {
    json: values.json,
    seconds: numberIn("seconds", values.seconds, 0.1, 60),
    rounds: Math.floor(numberIn("rounds", values.rounds, 1, 100)),
    connections: Math.floor(numberIn("connections", values.connections, 1, 1000)),
    addresses: Math.floor(numberIn("addresses", values.addresses, 10, 1_000_000)),
    activities: Math.floor(numberIn("activities", values.activities, 1, 10_000_000)),
    tenants: Math.floor(numberIn("tenants", values.tenants, 0, 1_000_000)),
    pages: Math.floor(numberIn("pages", values.pages, 0, 1_000_000)),
    parties: Math.floor(numberIn("parties", values.parties, 1, 900)),
    keys: Math.floor(numberIn("keys", values.keys, 1, 1_000_000)),
    engines: chosen(engineNames),
    scenarios: chosen(scenarioNames),
    parts: chosen(operationsParts),
    profileFolder: values.profile === undefined ? undefined : resolve(values.profile),
    group: groups.find((name) => positionals.includes(name)),
  };
}

function numberIn(name: string, text: string, min: number, max: number): number {
  const value = Number(text);
  if (text.trim() !== "" && value >= min && value <= max) return value;
  throw new Error(`--${name} must be a number from ${min} to ${max}`);
}

/** What is to be undone, the newest first, at the end or when the benchmark is interrupted. */
const cleanups: (() => unknown)[] = [];
let isStopping = false;

async function cleanUp(): Promise<void> {
  for (let undo = cleanups.pop(); undo; undo = cleanups.pop()) await undo();
}

const progress = (text: string): void => void process.stderr.write(`${text}\n`);

/** The servers of one engine. */
interface Contest {
  engine: EngineName;
  product: Product;
  floors: Record<FloorKind, Target>;
  /** The database's own process, where it has one. */
  databasePid: number | undefined;
}

async function startContest(engine: EngineName, folder: string, options: Options): Promise<Contest & Machine> {
  const { profileFolder } = options;
  const sqlite = (name: string) => `sqlite:${join(folder, `${name}.db`)}`;
  let urls = { product: sqlite("keystead"), records: sqlite("floor"), bare: sqlite("bare-floor") };
  let databasePid: number | undefined;
  let postgresVersion: string | undefined;
  if (engine === "postgres") {
    const postgres = await startPostgres({ durable: true });
    cleanups.push(() => postgres.stop());
    databasePid = postgres.pid;
    postgresVersion = await versionOf(postgres.url);
    urls = {
      product: await createTestDatabase(postgres.url, "keystead"),
      records: await createTestDatabase(postgres.url, "floor"),
      bare: await createTestDatabase(postgres.url, "bare_floor"),
    };
  }
  const product = await startProduct({ folder: join(folder, engine), databaseUrl: urls.product, profileFolder });
  cleanups.push(() => product.stop());
  const { publicKey } = product.key;
  const answerBytes = await answerBytesOf(product, options.scenarios);
  const floor = async (kind: FloorKind) => {
    const target = await startFloor({ kind, url: urls[kind], publicKey, answerBytes });
    cleanups.push(() => target.stop());
    return target;
  };
  const floors = { records: await floor("records"), bare: await floor("bare") };
  return { engine, product, floors, databasePid, postgresVersion };
}

async function versionOf(url: string): Promise<string> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query("show server_version");
    return rows[0].server_version;
  } finally {
    await client.end();
  }
}

interface Round {
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
  /** CPU seconds per 1,000 requests: the server with its signer, and the database's own processes. */
  serverCpu: number;
  databaseCpu: number | undefined;
  /** Cores that processes outside the benchmark kept busy. */
  otherCores: number;
  ranOut: boolean;
}

async function measure(contest: Contest, scenario: ScenarioName, options: Options): Promise<ScenarioReport> {
  const { engine, product, floors } = contest;
  const { connections, seconds, rounds } = options;
  const load = startLoad({ scenario, parties: [product], connections });
  cleanups.push(() => load.stop());
  const done: Record<"product" | "floor" | "bare", Round[]> = { product: [], floor: [], bare: [] };
  for (let round = 1; round <= rounds; round++) {
    const fastest = [...done.product, ...done.floor, ...done.bare].map(({ perSecond }) => perSecond * HEADROOM);
    const wanted = Math.max(FIRST_GUESS_PER_SECOND, ...fastest) * (seconds + warmUpSeconds(seconds));
    await load.prepare(Math.min(Math.ceil(wanted), MAX_PREPARED));
    done.bare.push(await measureOnce(load, floors.bare, contest.databasePid, seconds));
    done.floor.push(await measureOnce(load, floors.records, contest.databasePid, seconds));
    done.product.push(await measureOnce(load, product, contest.databasePid, seconds));
    const [ours, bare] = [done.product.at(-1), done.floor.at(-1)] as [Round, Round];
    progress(`${engine} ${scenario} ${round}/${rounds}: ${shortly(ours)}; floor ${shortly(bare)}`);
  }
  await load.stop();
  const [ours, floor, bare] = [done.product, done.floor, done.bare].map(sideOf) as [Side, Side, Side];
  return { engine, scenario, product: ours, floor, bare };
}

const shortly = ({ perSecond, otherCores }: Round): string =>
  `${perSecond.toFixed(0)}/s (others ${Math.max(0, otherCores).toFixed(1)} cores)`;

async function measureOnce(
  load: Load,
  target: Target,
  databasePid: number | undefined,
  seconds: number,
): Promise<Round> {
  const used = () => ({
    server: cpuSeconds(target.pid),
    database: databasePid && cpuSeconds(databasePid),
    others: machineCpuSeconds() - cpuSeconds(process.pid),
  });
  let before = used();
  let after = before;
  const result = await load.run(
    { port: target.port, warmUpMs: warmUpSeconds(seconds) * 1000, measureMs: seconds * 1000 },
    {
      onStart: () => {
        before = used();
      },
      onEnd: () => {
        after = used();
      },
    },
  );
  const { requests, p50Ms, p99Ms, ranOut } = result;
  const perThousand = (cpu: number) => (cpu * 1000) / requests;
  const { database } = after;
  return {
    perSecond: requests / result.seconds,
    p50Ms,
    p99Ms,
    serverCpu: perThousand(after.server - before.server),
    databaseCpu: database === undefined ? undefined : perThousand(database - (before.database ?? 0)),
    otherCores: (after.others - before.others) / result.seconds,
    ranOut,
  };
}

function sideOf(rounds: readonly Round[]): Side {
  const middle = (pick: (round: Round) => number) => median(rounds.map(pick));
  return {
    perSecond: middle(({ perSecond }) => perSecond),
    p50Ms: middle(({ p50Ms }) => p50Ms),
    p99Ms: middle(({ p99Ms }) => p99Ms),
    serverCpu: middle(({ serverCpu }) => serverCpu),
    databaseCpu: rounds[0]?.databaseCpu === undefined ? undefined : middle(({ databaseCpu }) => databaseCpu ?? 0),
    otherCores: middle(({ otherCores }) => otherCores),
    ranOut: rounds.some(({ ranOut }) => ranOut),
  };
}

const print = (line: string): void => void process.stdout.write(`${line}\n`);

/** Runs a group, and prints each result as it comes. */
type RunGroup = (options: Options & { folder: string }) => Promise<void>;

function group<Result>(
  bench: (options: Options & { folder: string }, hooks: BenchHooks<Result>) => Promise<void>,
  lineOf: (result: Result, json: boolean) => string,
): RunGroup {
  const onStart = (undo: () => unknown) => void cleanups.push(undo);
  return (options) => bench(options, { report: (result) => print(lineOf(result, options.json)), onStart });
}

const runGroup: Record<Group, RunGroup> = {
  chains: group(benchChains, lineOfChains),
  console: group(benchConsole, lineOfConsole),
  distance: group(benchDistance, lineOfDistance),
  many: group(benchMany, lineOfMany),
  operations: group(benchOperations, lineOfOperations),
  policies: group(benchPolicies, lineOfPolicies),
  signin: group(benchSignin, lineOfSignin),
  signing: group(benchSigning, lineOfSigning),
  spark: group(benchSpark, lineOfSpark),
  swaps: group(benchSwaps, lineOfSwaps),
  years: group(benchYears, lineOfYears),
  webhooks: async (options) => void (await benchWebhooks(options, (result) => print(lineOf(result, options.json)))),
};

const TMPFS = 0x01021994;

async function main(): Promise<void> {
  const options = readOptions();
  const { engines, json } = options;
  const folder = mkdtempSync(join(tmpdir(), "keystead-bench-"));
  cleanups.push(() => rmSync(folder, { recursive: true, force: true }));
  if (statfsSync(folder).type === TMPFS) progress(`${folder} lies in memory: no write in it is durable; set TMPDIR`);
  if (options.group !== undefined) {
    await runGroup[options.group]({ ...options, folder });
    return;
  }
  const reports: ScenarioReport[] = [];
  let postgresVersion: string | undefined;
  for (const engine of engines) {
    const before = cleanups.length;
    const contest = await startContest(engine, folder, options);
    postgresVersion ??= contest.postgresVersion;
    for (const scenario of options.scenarios) {
      const report = await measure(contest, scenario, options);
      reports.push(report);
      if (json) print(jsonLine(report));
    }
    while (cleanups.length > before) await cleanups.pop()?.();
  }
  if (!json) process.stdout.write(table(reports, { ...options, ...machine(), postgresVersion }));
}

function machine(): { cores: number; commit: string } {
  return { cores: availableParallelism(), commit: commitOf(join(import.meta.dirname, "..")) };
}

function commitOf(folder: string): string {
  try {
    return execFileSync("git", ["describe", "--always", "--dirty"], {
      cwd: folder,
      encoding: "utf8",
      stdio: "pipe",
    }).trim();
  } catch {
    return "unknown";
  }
}

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, async () => {
    if (isStopping) return;
    isStopping = true;
    await cleanUp();
    process.exit(130);
  });
}
try {
  await main();
} catch (error) {
  // What breaks because it was stopped is no news.
  if (!isStopping) {
    progress(`bench: ${(error as Error).message}\n${USAGE}`);
    process.exitCode = 1;
  }
} finally {
  if (!isStopping) await cleanUp();
}
