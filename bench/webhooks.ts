import { type ChildProcess, fork, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import type { Credentials } from "../src/main/credentials-file.ts";
import { type Database, openDatabase } from "../src/storage/database.ts";
import { Client } from "../test/support/client.ts";
import { createTestDatabase, startPostgres } from "../test/support/postgres.ts";
import { until } from "../test/support/until.ts";
import { addEndpoints, countPending, queueDeliveries } from "../test/support/webhook-queue.ts";
import { cpuSeconds } from "./cpu.ts";
import { shippedProgram } from "./processes.ts";
import { median, percentile } from "./statistics.ts";

/**
 * Webhooks under load: deliveries per second to a local receiver, and what a long queue costs the requests meanwhile.
 * Server, signer, receiver and this client are processes of their own and share the machine.
 */

export interface WebhookBenchOptions {
  engines?: readonly DatabaseKind[];
  /** Deliveries in each throughput scenario. */
  deliveries?: number;
  /** Pairs of rounds for the effect on writes. */
  rounds?: number;
}

export type WebhookBenchResult =
  | {
      engine: DatabaseKind;
      scenario: "deliveries";
      endpoints: number;
      hosts: number;
      perSecond: number;
      cpuMsPer1000: number;
    }
  | {
      engine: DatabaseKind;
      scenario: "writes-while-delivering";
      perSecondOffered: number;
      p50Ms: [idle: number, delivering: number];
      p99Ms: [idle: number, delivering: number];
      p99Ratio: number;
      deliveredPerSecond: number;
    };

type DatabaseKind = "sqlite" | "postgres";

const DELIVERIES = 5000;
const ROUNDS = 5;
const QUEUED = 10_000;
const WRITES_PER_ROUND = 600;
const WRITES_PER_SECOND = 100;
const ACTIVITY_BODY = JSON.stringify({ filler: "x".repeat(2000) });

/** Runs every scenario on each engine and hands each result on as it comes. */
export async function benchWebhooks(
  options: WebhookBenchOptions = {},
  report: (result: WebhookBenchResult) => void = () => {},
): Promise<WebhookBenchResult[]> {
  const { engines = ["sqlite", "postgres"], deliveries = DELIVERIES, rounds = ROUNDS } = options;
  const results: WebhookBenchResult[] = [];
  const add = (result: WebhookBenchResult) => {
    results.push(result);
    report(result);
  };
  const receiver = await startReceiverProcess();
  const postgres = engines.includes("postgres") ? await startPostgres({ durable: true }) : undefined;
  try {
    for (const engine of engines) {
      for (const [endpoints, hosts] of [
        [1, 1],
        [10, 10],
        [100, 1],
        [100, 100],
      ] as const) {
        const installation = await prepare(engine, postgres?.url);
        add(await measureThroughput(installation, receiver, { endpoints, hosts, deliveries }));
        installation.remove();
      }
      const installation = await prepare(engine, postgres?.url);
      add(await measureWrites(installation, receiver, rounds));
      installation.remove();
    }
  } finally {
    receiver.child.kill();
    await postgres?.stop();
  }
  return results;
}

interface Installation {
  engine: DatabaseKind;
  dataDir: string;
  databaseUrl: string;
  remove(): void;
}

/** An installation whose tables and first organization exist. */
async function prepare(engine: DatabaseKind, postgresUrl: string | undefined): Promise<Installation> {
  const dataDir = mkdtempSync(join(tmpdir(), "keystead-bench-"));
  const databaseUrl =
    engine === "sqlite"
      ? `sqlite:${join(dataDir, "keystead.db")}`
      : await createTestDatabase(postgresUrl as string, `bench_${Date.now()}`);
  const installation = {
    engine,
    dataDir,
    databaseUrl,
    remove: () => rmSync(dataDir, { recursive: true, force: true }),
  };
  await (await startServer(installation)).stop();
  return installation;
}

async function measureThroughput(
  installation: Installation,
  receiver: ReceiverProcess,
  { endpoints, hosts, deliveries }: { endpoints: number; hosts: number; deliveries: number },
): Promise<WebhookBenchResult> {
  const { engine } = installation;
  const database = openDatabase({ url: installation.databaseUrl });
  const urls = Array.from({ length: endpoints }, (_, index) => receiver.url(index % hosts));
  const receivers = await addEndpoints(database, urls);
  await queueDeliveries(database, receivers, { count: deliveries, body: ACTIVITY_BODY, dueAt: Date.now() });
  await receiver.reset();
  const server = await startServer(installation);
  // The start is left out: from the first delivery to the last.
  await until(async () => (await receiver.count()).count >= deliveries, "all to arrive", 300_000);
  const { firstAt, lastAt } = await receiver.count();
  const cpuMs = server.cpuMs();
  await server.stop();
  await database.close();
  const perSecond = (deliveries / (lastAt - firstAt)) * 1000;
  return { engine, scenario: "deliveries", endpoints, hosts, perSecond, cpuMsPer1000: (cpuMs / deliveries) * 1000 };
}

async function measureWrites(
  installation: Installation,
  receiver: ReceiverProcess,
  rounds: number,
): Promise<WebhookBenchResult> {
  const { engine } = installation;
  const database = openDatabase({ url: installation.databaseUrl });
  const receivers = await addEndpoints(
    database,
    Array.from({ length: 10 }, (_, index) => receiver.url(index)),
  );
  const server = await startServer(installation);
  await writeRound(server.client, 200);
  const pairs: { idle: Float64Array; delivering: Float64Array; deliveredPerSecond: number }[] = [];
  for (let round = 0; round < rounds; round++) {
    const idle = await writeRound(server.client, WRITES_PER_ROUND);
    await queueAndBegin(database, receivers);
    await receiver.reset();
    const startedAt = performance.now();
    const delivering = await writeRound(server.client, WRITES_PER_ROUND);
    const seconds = (performance.now() - startedAt) / 1000;
    const { count } = await receiver.count();
    if (count >= QUEUED) throw new Error("the queue was empty before the round was over");
    pairs.push({ idle, delivering, deliveredPerSecond: count / seconds });
    await emptyQueue(database);
  }
  await server.stop();
  await database.close();
  const middle = (pick: (pair: (typeof pairs)[number]) => number) => median(pairs.map(pick));
  const both = (percent: number): [number, number] => [
    middle(({ idle }) => percentile(idle, percent / 100)),
    middle(({ delivering }) => percentile(delivering, percent / 100)),
  ];
  return {
    engine,
    scenario: "writes-while-delivering",
    perSecondOffered: WRITES_PER_SECOND,
    p50Ms: both(50),
    p99Ms: both(99),
    // Of rounds side by side, because what else the machine does changes from second to second.
    p99Ratio: middle(({ idle, delivering }) => percentile(delivering, 0.99) / percentile(idle, 0.99)),
    deliveredPerSecond: middle(({ deliveredPerSecond }) => deliveredPerSecond),
  };
}

/** Queues all before any is due, so that making them is no part of what is measured. */
async function queueAndBegin(database: Database, receivers: Parameters<typeof queueDeliveries>[1]): Promise<void> {
  const dueAt = Date.now() + 15_000;
  await queueDeliveries(database, receivers, { count: QUEUED, body: ACTIVITY_BODY, dueAt });
  await database.transact(undefined, async (tx) => {
    await tx.updateTable("jobs").set({ run_at: Date.now() }).where("run_at", "=", dueAt).execute();
  });
}

/** Takes away what is left of the queue. */
async function emptyQueue(database: Database): Promise<void> {
  await database.transact(undefined, async (tx) => {
    await tx.deleteFrom("jobs").where("kind", "=", "deliver_webhook").execute();
    await tx.deleteFrom("webhook_events").execute();
  });
  await until(async () => (await countPending(database)) === 0, "the queue to be empty");
}

/** Stamped writes at a fixed rate, whether or not earlier ones were answered; the sorted milliseconds that each took. */
async function writeRound(client: Client, count: number): Promise<Float64Array> {
  const stampedAhead = Array.from({ length: count }, (_, index) => {
    const body = client.submitBody("update_organization_name", { organizationName: `Round ${index}` });
    return { body, stamp: client.stamp(body) };
  });
  const startedAt = performance.now();
  const tookMs = await Promise.all(
    stampedAhead.map(async ({ body, stamp }, index) => {
      const dueAt = startedAt + (index * 1000) / WRITES_PER_SECOND;
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, dueAt - performance.now())));
      const sentAt = performance.now();
      const headers = { "content-type": "application/json", "x-stamp": stamp };
      const response = await fetch(`${client.baseUrl}/public/v1/submit/update_organization_name`, {
        method: "POST",
        headers,
        body,
      });
      await response.arrayBuffer();
      if (response.status !== 200) throw new Error(`a write was answered with ${response.status}`);
      return performance.now() - sentAt;
    }),
  );
  return Float64Array.from(tookMs).sort();
}

interface BenchServer {
  client: Client;
  /** CPU milliseconds of the server and its signer since it serves. */
  cpuMs(): number;
  stop(): Promise<void>;
}

async function startServer({ dataDir, databaseUrl }: Installation): Promise<BenchServer> {
  const child = spawn(process.execPath, [await shippedProgram(), "serve"], {
    stdio: ["ignore", "ignore", "inherit"],
    env: {
      PATH: process.env.PATH,
      KEYSTEAD_DATA_DIR: dataDir,
      DATABASE_URL: databaseUrl,
      KEYSTEAD_PORT: "0",
      KEYSTEAD_ADMIN_PORT: "0",
      KEYSTEAD_LOG_LEVEL: "error",
      KEYSTEAD_ALLOW_PRIVATE_NETWORKS: "true",
    },
  });
  // Its log is quiet; it writes its address down once it serves.
  const file = join(dataDir, "address.json");
  const address = () => (existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {});
  await until(() => address().pid === child.pid || child.exitCode !== null, "the server to serve");
  if (child.exitCode !== null) throw new Error("the server did not start");
  const { baseUrl } = address();
  const cpuAtStart = cpuSeconds(child.pid as number);
  const { organizationId, apiKey } = JSON.parse(readFileSync(join(dataDir, "credentials.json"), "utf8")) as Credentials;
  return {
    client: new Client(baseUrl, organizationId, {
      publicKey: apiKey.publicKey,
      privateKey: apiKey.privateKey as string,
    }),
    cpuMs: () => (cpuSeconds(child.pid as number) - cpuAtStart) * 1000,
    stop: async () => {
      const exit = once(child, "exit");
      child.kill("SIGTERM");
      await exit;
    },
  };
}

interface Count {
  count: number;
  /** Milliseconds. */
  firstAt: number;
  lastAt: number;
}

interface ReceiverProcess {
  child: ChildProcess;
  /** The same receiver under one of many addresses, each a host of its own. */
  url(host: number): string;
  reset(): Promise<void>;
  count(): Promise<Count>;
}

async function startReceiverProcess(): Promise<ReceiverProcess> {
  const child = fork(fileURLToPath(import.meta.url), ["--receiver"]);
  const ask = async <T>(message: string): Promise<T> => {
    const answer = once(child, "message");
    child.send(message);
    return ((await answer) as [T])[0];
  };
  const [{ port }] = (await once(child, "message")) as [{ port: number }];
  return {
    child,
    url: (host) => `http://127.0.0.${1 + host}:${port}/`,
    reset: () => ask<void>("reset"),
    count: () => ask<Count>("count"),
  };
}

function runReceiver(): void {
  const seen: Count = { count: 0, firstAt: 0, lastAt: 0 };
  const server = createServer((request, response) => {
    request.resume();
    request.on("end", () => {
      seen.count++;
      seen.lastAt = Date.now();
      if (seen.count === 1) seen.firstAt = seen.lastAt;
      response.writeHead(200).end();
    });
  });
  server.listen(0, "0.0.0.0", () => process.send?.({ port: (server.address() as { port: number }).port }));
  process.on("message", (message) => {
    if (message === "reset") seen.count = 0;
    process.send?.(seen);
  });
  process.on("disconnect", () => process.exit());
}

/** One line, for programs or for people. */
export function lineOf(result: WebhookBenchResult, json: boolean): string {
  if (json) return JSON.stringify(result);
  const engine = result.engine.padEnd(9);
  if (result.scenario === "deliveries") {
    const { endpoints, hosts, perSecond, cpuMsPer1000 } = result;
    const where = `${endpoints} endpoints on ${hosts} hosts`;
    return `${engine} ${where.padEnd(32)} ${perSecond.toFixed(0)}/s, ${cpuMsPer1000.toFixed(0)} ms CPU per 1,000`;
  }
  const { p50Ms, p99Ms, p99Ratio, deliveredPerSecond } = result;
  const pair = ([idle, delivering]: [number, number]) => `${idle.toFixed(1)} -> ${delivering.toFixed(1)} ms`;
  return `${engine} writes while delivering ${deliveredPerSecond.toFixed(0)}/s: p50 ${pair(p50Ms)}, p99 ${pair(p99Ms)} (x${p99Ratio.toFixed(2)})`;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      receiver: { type: "boolean" },
      json: { type: "boolean" },
      engine: { type: "string" },
      deliveries: { type: "string" },
      rounds: { type: "string" },
    },
  });
  if (values.receiver) {
    runReceiver();
    return;
  }
  const print = (text: string) => process.stdout.write(`${text}\n`);
  if (!values.json) print(`Node ${process.version}, ${cpus().length} cores (${cpus()[0]?.model})`);
  await benchWebhooks(
    {
      ...(values.engine === undefined ? {} : { engines: [values.engine as DatabaseKind] }),
      ...(values.deliveries === undefined ? {} : { deliveries: Number(values.deliveries) }),
      ...(values.rounds === undefined ? {} : { rounds: Number(values.rounds) }),
    },
    (result) => print(lineOf(result, values.json ?? false)),
  );
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
