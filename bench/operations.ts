import { type ChildProcess, execFile } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { DatabaseKind } from "../src/storage/engine.ts";
import { Client, generateApiKey } from "../test/support/client.ts";
import { residentBytes } from "../test/support/resident-bytes.ts";
import { cpuSeconds, processTree } from "./cpu.ts";
import { type Load, type Product, shippedProgram, startLoad } from "./processes.ts";
import {
  type BenchHooks,
  inTurns,
  measureRound,
  type Round,
  type RoundOptions,
  startServer,
  warmUpSeconds,
} from "./rounds.ts";
import type { ScenarioName } from "./scenarios.ts";
import { median, rounded } from "./statistics.ts";

/**
 * What it costs to watch a server and to keep its tenants apart: reads and writes with limits, traces and the audit stream against the
 * same without, in turns; a backup of many keys and its verification; and a quiet tenant beside a noisy one.
 */

export const operationsParts = ["cost", "backup", "noise"] as const;
type Part = (typeof operationsParts)[number];

export interface OperationsOptions extends RoundOptions {
  parts: readonly Part[];
  /** How many the backup holds. */
  keys: number;
}

export type OperationsBenchResult =
  | {
      engine: DatabaseKind;
      scenario: "cost";
      of: Addition;
      requests: "read" | "write";
      perSecond: [without: number, with_: number];
      /** Of requests per second, with it to without; the median of the rounds' pairs. */
      ratio: number;
      /** Milliseconds of the server's and the signer's CPU per 1,000 requests. */
      cpuMs: [without: number, with_: number];
      cpuRatio: number;
    }
  | {
      engine: DatabaseKind;
      scenario: "backup";
      keys: number;
      bytes: number;
      /** Whole commands, their start included. */
      backup: Command;
      verify: Command;
    }
  | {
      engine: DatabaseKind;
      scenario: "noisy-tenant";
      /** Of the quiet tenant's signatures, one at a time; medians of the rounds. */
      p50Ms: [alone: number, beside: number];
      p99Ms: [alone: number, beside: number];
      /** Beside the noisy one to alone; the median of the rounds' pairs. */
      p99Ratio: number;
      noisyPerSecond: number;
    };

/** What a command took, with the processes that it started. */
interface Command {
  seconds: number;
  cpuSeconds: number;
  /** The most of it in RAM. */
  peakMiB: number;
}

const additions = ["limits", "traces", "audit", "together"] as const;
type Addition = (typeof additions)[number];

export async function benchOperations(
  options: OperationsOptions,
  hooks: BenchHooks<OperationsBenchResult>,
): Promise<void> {
  const collector = await startCollector();
  hooks.onStart(() => collector.close());
  const { engines, parts } = options;
  for (const engine of engines) {
    if (parts.includes("cost")) {
      for (const of of additions) await measureCost(engine, of, collector.url, options, hooks);
    }
    if (parts.includes("backup")) hooks.report(await measureBackup(engine, options, hooks));
    if (parts.includes("noise")) hooks.report(await measureNoise(engine, options, hooks));
  }
  collector.close();
}

/** Takes spans and keeps none. */
async function startCollector(): Promise<{ url: string; close: () => void }> {
  const server = createServer((request, response) => {
    request.resume().once("end", () => response.setHeader("content-type", "application/json").end("{}"));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${port}`, close };
}

/** A server with a folder of its own: a SQLite database belongs to one. */
function startApart(
  engine: DatabaseKind,
  name: string,
  options: RoundOptions,
  settings: Record<string, string>,
  onStart: BenchHooks<OperationsBenchResult>["onStart"],
): Promise<Product> {
  const folder = join(options.folder, `${engine}-${name}`);
  mkdirSync(folder, { recursive: true });
  return startServer(engine, name, { ...options, folder, settings }, onStart);
}

/** Counted and never reached; of traces, one request in a hundred, as a server has it unless told. */
function settingsOf(of: Addition, collectorUrl: string, folder: string): Record<string, string> {
  const has = (one: Addition) => of === one || of === "together";
  const config = {
    ...(has("limits")
      ? { quotas: { activitiesPerMonth: HIGHEST_ACTIVITIES, activityBytesPerMonth: HIGHEST_BYTES } }
      : {}),
    ...(has("audit") ? { audit: { file: { path: join(folder, `${of}.ndjson`) }, whenFull: "block" } } : {}),
  };
  const file = join(folder, `${of}.json`);
  writeFileSync(file, JSON.stringify(config));
  return {
    KEYSTEAD_CONFIG: file,
    KEYSTEAD_ALLOW_PRIVATE_NETWORKS: "true",
    ...(has("limits")
      ? {
          KEYSTEAD_ORGANIZATION_REQUESTS_PER_SECOND: "1000000",
          KEYSTEAD_CREDENTIAL_REQUESTS_PER_SECOND: "1000000",
        }
      : {}),
    ...(has("traces") ? { KEYSTEAD_OTLP_URL: collectorUrl } : {}),
  };
}

const HIGHEST_ACTIVITIES = 10_000_000;
const HIGHEST_BYTES = 100_000_000_000;

async function measureCost(
  engine: DatabaseKind,
  of: Addition,
  collectorUrl: string,
  options: OperationsOptions,
  { report, onStart }: BenchHooks<OperationsBenchResult>,
): Promise<void> {
  const bare = await startApart(engine, `without_${of}`, options, { KEYSTEAD_ALLOW_PRIVATE_NETWORKS: "true" }, onStart);
  const settings = settingsOf(of, collectorUrl, options.folder);
  const whole = await startApart(engine, `with_${of}`, options, settings, onStart);
  for (const requests of ["read", "write"] as const) {
    const pairs = await measurePairs([bare, whole], requests, options, onStart);
    const both = (pick: (round: Round) => number): [number, number] => [
      Math.round(median(pairs.map(([one]) => pick(one)))),
      Math.round(median(pairs.map(([, other]) => pick(other)))),
    ];
    const ratioOf = (pick: (round: Round) => number) =>
      rounded(median(pairs.map(([one, other]) => pick(other) / pick(one))), 3);
    report({
      engine,
      scenario: "cost",
      of,
      requests,
      perSecond: both(({ perSecond }) => perSecond),
      ratio: ratioOf(({ perSecond }) => perSecond),
      cpuMs: both(({ cpuMs }) => cpuMs),
      cpuRatio: ratioOf(({ cpuMs }) => cpuMs),
    });
  }
  await Promise.all([bare.stop(), whole.stop()]);
}

async function measurePairs(
  products: readonly [Product, Product],
  scenario: ScenarioName,
  options: OperationsOptions,
  onStart: BenchHooks<OperationsBenchResult>["onStart"],
): Promise<[Round, Round][]> {
  const loads = products.map((product) =>
    startLoad({ scenario, parties: [product], connections: options.connections }),
  ) as [Load, Load];
  for (const load of loads) onStart(() => load.stop());
  const pairs = await inTurns(options.rounds, (side) => measureRound(loads[side], products[side], options));
  await Promise.all(loads.map((load) => load.stop()));
  return pairs;
}

/** What an organization may have unless told. */
const KEYS_OF_ONE = 1000;
const KEYS_AT_ONCE = 50;
const CURVES = ["CURVE_SECP256K1", "CURVE_P256", "CURVE_ED25519"];

async function measureBackup(
  engine: DatabaseKind,
  options: OperationsOptions,
  { onStart }: BenchHooks<OperationsBenchResult>,
): Promise<OperationsBenchResult> {
  const product = await startApart(engine, "backup", options, {}, onStart);
  for (let made = 0; made < options.keys; made += KEYS_OF_ONE) {
    const owner = await addTenant(product, `Owner ${made}`);
    const count = Math.min(KEYS_OF_ONE, options.keys - made);
    for (let start = 0; start < count; start += KEYS_AT_ONCE) {
      const privateKeys = Array.from({ length: Math.min(KEYS_AT_ONCE, count - start) }, (_, index) => ({
        privateKeyName: `Key ${start + index}`,
        curve: CURVES[index % CURVES.length],
        addressFormats: [],
        privateKeyTags: [],
      }));
      await owner.client.result("create_private_keys", { privateKeys });
    }
  }
  const file = join(options.folder, `${engine}.backup`);
  const settings = { KEYSTEAD_DATA_DIR: product.folder, DATABASE_URL: product.databaseUrl };
  const backup = await run(["backup", file], settings);
  const rootKey = join(product.folder, "root.key");
  const scratch = ["--scratch", options.folder];
  const verify = await run(["backup", "verify", file, "--root-key", rootKey, ...scratch], settings);
  const { size: bytes } = statSync(file);
  await product.stop();
  return {
    engine,
    scenario: "backup",
    keys: options.keys,
    bytes,
    backup,
    verify,
  };
}

const LOOKED_EVERY_MS = 50;
const MIB = 1024 * 1024;

/** @throws where it fails */
async function run(args: readonly string[], settings: Record<string, string>): Promise<Command> {
  const { PATH, HOME, NODE_OPTIONS } = process.env;
  const env = { PATH, HOME, ...(NODE_OPTIONS ? { NODE_OPTIONS } : {}), ...settings };
  const program = await shippedProgram();
  const began = performance.now();
  let [cpu, peak] = [0, 0];
  await new Promise<void>((resolve, reject) => {
    const child = execFile(process.execPath, [program, ...args], { env }, (error) => {
      clearInterval(timer);
      if (error) reject(error);
      else resolve();
    });
    const look = () => {
      const now = usedBy(child);
      cpu = Math.max(cpu, now.cpu);
      peak = Math.max(peak, now.bytes);
    };
    const timer = setInterval(look, LOOKED_EVERY_MS);
  });
  const seconds = (performance.now() - began) / 1000;
  return { seconds: rounded(seconds, 2), cpuSeconds: rounded(cpu, 2), peakMiB: Math.round(peak / MIB) };
}

/** Nothing once it has ended; of one that is ending no memory is told. */
function usedBy({ pid }: ChildProcess): { cpu: number; bytes: number } {
  try {
    const tree = processTree(pid as number);
    return {
      cpu: cpuSeconds(pid as number),
      bytes: tree.reduce((sum, member) => sum + (residentBytes(member) || 0), 0),
    };
  } catch {
    return { cpu: 0, bytes: 0 };
  }
}

/** A sub-organization with a root user of its own, which the server serves in turn with all others. */
async function addTenant({ port, subject, key }: Product, name: string): Promise<{ client: Client; userId: string }> {
  const root = new Client(`http://127.0.0.1:${port}`, subject.organizationId, key);
  const own = generateApiKey();
  const apiKeys = [{ apiKeyName: "key", publicKey: own.publicKey, curveType: "API_KEY_CURVE_P256" }];
  const rootUsers = [{ userName: name, apiKeys, authenticators: [], oauthProviders: [] }];
  const { subOrganizationId, rootUserIds } = await root.result("create_sub_organization", {
    subOrganizationName: name,
    rootUsers,
    rootQuorumThreshold: 1,
  });
  return { client: root.with({ key: own, organizationId: subOrganizationId }), userId: rootUserIds[0] };
}

/** Of each second: more than one client alone gets answered, and than all of the noisy ones. */
const QUIET_PER_SECOND = 1000;
const NOISY_PER_SECOND = 5000;

/** The quiet tenant signs one payload after the other, alone and while the other one does so over all its connections. */
async function measureNoise(
  engine: DatabaseKind,
  options: OperationsOptions,
  { onStart }: BenchHooks<OperationsBenchResult>,
): Promise<OperationsBenchResult> {
  const product = await startApart(engine, "noise", options, {}, onStart);
  const { client, userId } = await addTenant(product, "Quiet");
  const { privateKeys } = await client.result("create_private_keys", {
    privateKeys: [{ privateKeyName: "Quiet", curve: "CURVE_SECP256K1", addressFormats: [], privateKeyTags: [] }],
  });
  const { organizationId, key } = client;
  const subject = { organizationId, userId, privateKeyId: privateKeys[0].privateKeyId };
  const quiet = startLoad({ scenario: "sign", parties: [{ subject, key }], connections: 1 });
  const noisy = startLoad({
    scenario: "sign",
    parties: [product],
    connections: options.connections,
  });
  for (const load of [quiet, noisy]) onStart(() => load.stop());
  const times = {
    port: product.port,
    warmUpMs: warmUpSeconds(options.seconds) * 1000,
    measureMs: options.seconds * 1000,
  };
  const nobody = { onStart: () => {}, onEnd: () => {} };
  const prepare = (load: Load, perSecond: number) =>
    load.prepare(Math.ceil(perSecond * (options.seconds + warmUpSeconds(options.seconds))));
  const rounds: { alone: Times; beside: Times; noisyPerSecond: number }[] = [];
  for (let round = 0; round < options.rounds; round++) {
    await prepare(quiet, QUIET_PER_SECOND);
    const alone = await quiet.run(times, nobody);
    await Promise.all([prepare(quiet, QUIET_PER_SECOND), prepare(noisy, NOISY_PER_SECOND)]);
    const [beside, noise] = await Promise.all([quiet.run(times, nobody), noisy.run(times, nobody)]);
    rounds.push({ alone, beside, noisyPerSecond: noise.requests / noise.seconds });
  }
  await Promise.all([quiet.stop(), noisy.stop()]);
  await product.stop();
  const both = (pick: (times: Times) => number): [number, number] => [
    rounded(median(rounds.map(({ alone }) => pick(alone))), 1),
    rounded(median(rounds.map(({ beside }) => pick(beside))), 1),
  ];
  return {
    engine,
    scenario: "noisy-tenant",
    p50Ms: both(({ p50Ms }) => p50Ms),
    p99Ms: both(({ p99Ms }) => p99Ms),
    p99Ratio: rounded(median(rounds.map(({ alone, beside }) => beside.p99Ms / alone.p99Ms)), 2),
    noisyPerSecond: Math.round(median(rounds.map(({ noisyPerSecond }) => noisyPerSecond))),
  };
}

type Times = Pick<Round, "p50Ms" | "p99Ms">;

export function lineOfOperations(result: OperationsBenchResult, json: boolean): string {
  if (json) return JSON.stringify(result);
  const { engine } = result;
  switch (result.scenario) {
    case "cost": {
      const { of, requests, perSecond, ratio, cpuMs, cpuRatio } = result;
      return `${engine} ${requests}s with ${of}: ${ratio} of those without (${perSecond[1]}/s to ${perSecond[0]}/s); CPU ${cpuRatio} (${cpuMs[1]} ms to ${cpuMs[0]} ms per 1,000)`;
    }
    case "backup": {
      const { keys, bytes, backup, verify } = result;
      return `${engine} backup of ${keys} keys: ${bytes} bytes, ${lineOfCommand(backup)}; verified: ${lineOfCommand(verify)}`;
    }
    default: {
      const { p50Ms, p99Ms, p99Ratio, noisyPerSecond } = result;
      return `${engine} quiet tenant: p50 ${p50Ms[0]} ms alone, ${p50Ms[1]} ms beside ${noisyPerSecond}/s of another; p99 ${p99Ms[0]} ms and ${p99Ms[1]} ms, ratio ${p99Ratio}`;
    }
  }
}

const lineOfCommand = ({ seconds, cpuSeconds: cpu, peakMiB }: Command): string =>
  `${seconds} s, CPU ${cpu} s, at most ${peakMiB} MiB`;
