import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it, type TestFn, type TestOptions } from "node:test";
import type { OutboundClient } from "../../src/delivery/outbound.ts";
import type { Operation } from "../../src/engine/operations.ts";
import { matches } from "../../src/engine/validate.ts";
import { responseOf } from "../../src/http/openapi.ts";
import type { Clock } from "../../src/kernel/clock.ts";
import { newId } from "../../src/kernel/ids.ts";
import { createLogger } from "../../src/kernel/log.ts";
import { loadConfig } from "../../src/main/config.ts";
import type { Credentials } from "../../src/main/credentials-file.ts";
import { type RunningServer, serve } from "../../src/main/serve.ts";
import { type Chains, chainsOfTests, earnOfTests, writeChains } from "./chain.ts";
import { Client } from "./client.ts";
import { atEndOfFile } from "./end-of-file.ts";
import { areLong } from "./long-tests.ts";
import { copyMigratedFile } from "./migrated-sqlite.ts";
import { oauth2ProviderOfTests } from "./oauth2-provider.ts";
import { onRampProviderOfTests } from "./on-ramp-provider.ts";
import { createTestDatabase, databasesOfFile, MIGRATED_DATABASE } from "./postgres.ts";
import { swapsOfTests } from "./relay.ts";

export const engines = ["sqlite", "postgres"] as const;
export type TestEngine = (typeof engines)[number];

/**
 * For suites about what is beyond the database: this one alone, in a long run both (docs/adr/0155-what-runs-on-one-database.md). What
 * transactions, locks, orders and types of columns decide is tested on both.
 */
export const oneEngine = (engine: TestEngine): readonly TestEngine[] => (areLong ? engines : [engine]);

type NamedTest = [name: string, run: TestFn] | [name: string, options: TestOptions, run: TestFn];

/**
 * `it` of a suite that runs on each engine, for tests of which each needs one: the first runs on SQLite, the second on PostgreSQL, and
 * so on; in a long run each runs on both.
 */
export function itInTurns(engine: TestEngine): (...test: NamedTest) => void {
  const declare = it as (...test: NamedTest) => void;
  let count = 0;
  return (...test) => {
    const one = engines[count++ % engines.length] as TestEngine;
    if (oneEngine(one).includes(engine)) declare(...test);
  };
}

export interface TestServer extends RunningServer {
  dataDir: string;
  databaseUrl: string;
  credentials: Credentials;
  /** Stamps with the root user's key. */
  root: Client;
  log: () => string;
}

export interface TestServerOptions {
  dataDir?: string;
  databaseUrl?: string;
  clock?: Clock;
  /** Of the machine that it is on. */
  machineClock?: Clock;
  /** By which rates are counted. */
  elapsed?: () => number;
  settings?: Record<string, string>;
  /** The nodes that it reaches, if not the one of all tests. */
  chains?: Chains;
  /** Where its on-ramp providers are, if not where those of all tests are. */
  onRamp?: object;
  /** Who quotes its swaps, if not the one of all tests; nobody for null. */
  swaps?: object | null;
  /** What it asks others by, if not a client of its own; it closes it. */
  outbound?: OutboundClient;
  /** How deployments run; not at all unless said. */
  tvc?: object;
  /** Vaults to earn in, and the service's fee. */
  earn?: object;
  /** Where its audit stream goes; nowhere unless said. */
  audit?: object;
  /** Whether each answer is held against its schema, which is the test's own work; it is unless said. */
  checksAnswers?: boolean;
  /** US dollars by asset. */
  prices?: Record<string, string>;
}

// A test that fails may leave servers behind, and they would keep the process of the tests from ending.
const running = new Set<Pick<TestServer, "close">>();
atEndOfFile(async () => {
  for (const server of running) await server.close();
});

/** A whole service in this process: real listener, signer process and database; each answer is held against its schema. */
export async function startTestServer(engine: TestEngine, options: TestServerOptions = {}): Promise<TestServer> {
  const dataDir = options.dataDir ?? mkdtempSync(join(tmpdir(), "keystead-test-"));
  const databaseUrl = options.databaseUrl ?? (await freshDatabaseUrl(engine, dataDir, MIGRATED_DATABASE));
  const lines: string[] = [];
  const {
    chains = chainsOfTests(),
    prices = {},
    earn = earnOfTests(),
    onRamp = await onRampOfTests(),
    tvc = {},
    swaps = await swapsOfTests(),
  } = options;
  const config = loadConfig({
    KEYSTEAD_DATA_DIR: dataDir,
    KEYSTEAD_PORT: "0",
    KEYSTEAD_ADMIN_PORT: "0",
    // Of what the signer tells on standard error; the server's own log is kept here, whole.
    KEYSTEAD_LOG_LEVEL: "warn",
    DATABASE_URL: databaseUrl,
    KEYSTEAD_CONFIG: writeChains(dataDir, chains, {
      ...{ prices, earn, onRamp, tvc },
      ...(swaps === null ? {} : { swaps }),
      ...(options.audit ? { audit: options.audit } : {}),
    }),
    // The issuer of all tests is on this machine.
    KEYSTEAD_ALLOW_PRIVATE_NETWORKS: "true",
    KEYSTEAD_OAUTH2_X_URL: (await oauth2ProviderOfTests()).url,
    KEYSTEAD_OAUTH2_DISCORD_URL: (await oauth2ProviderOfTests()).url,
    ...options.settings,
  });
  const log = createLogger("debug", { write: (line: string) => void lines.push(line) });
  const server = await serve({
    config,
    log,
    ...(options.checksAnswers === false ? {} : { onAnswer: checkAnswer }),
    ...(options.clock ? { clock: options.clock } : {}),
    ...(options.machineClock ? { machineClock: options.machineClock } : {}),
    ...(options.elapsed ? { elapsed: options.elapsed } : {}),
    ...(options.outbound ? { outbound: options.outbound } : {}),
  });
  const credentials = JSON.parse(readFileSync(join(dataDir, "credentials.json"), "utf8")) as Credentials;
  let closing: Promise<void> | undefined;
  const close = async () => {
    running.delete(started);
    await server.close();
    if (options.dataDir === undefined) rmSync(dataDir, { recursive: true, force: true });
  };
  const started: TestServer = {
    ...server,
    dataDir,
    databaseUrl,
    credentials,
    root: new Client(server.baseUrl, credentials.organizationId, {
      publicKey: credentials.apiKey.publicKey,
      privateKey: credentials.apiKey.privateKey as string,
    }),
    log: () => lines.join(""),
    close: () => {
      closing ??= close();
      return closing;
    },
  };
  running.add(started);
  return started;
}

async function onRampOfTests(): Promise<object> {
  const { url: apiUrl } = await onRampProviderOfTests();
  return { moonpay: { apiUrl }, coinbase: { apiUrl } };
}

/** A database that nobody has used, without tables or a copy of the one that has them; on SQLite a file in the folder. */
export async function freshDatabaseUrl(
  engine: TestEngine,
  dataDir: string,
  copyOf?: typeof MIGRATED_DATABASE,
): Promise<string> {
  if (engine === "sqlite") {
    const file = join(dataDir, "keystead.db");
    if (copyOf !== undefined) copyMigratedFile(file);
    return `sqlite:${file}`;
  }
  const name = `test_${newId().replaceAll("-", "")}`;
  databasesOfFile.add(name);
  return createTestDatabase(testPostgresUrl(), name, copyOf);
}

/** Where `npm test` started PostgreSQL. */
export function testPostgresUrl(): string {
  const url = process.env.KEYSTEAD_TEST_POSTGRES_URL;
  assert.ok(url, "run tests through `npm test -- <files>`, which starts PostgreSQL for them");
  return url;
}

/** What is compiled is kept by the schema itself, so each operation has one. */
const answerSchemas = new Map<Operation, ReturnType<typeof responseOf>>();

function checkAnswer(operation: Operation, body: string): void {
  const schema = answerSchemas.get(operation) ?? responseOf(operation);
  answerSchemas.set(operation, schema);
  assert.ok(matches(schema, JSON.parse(body)), `the answer of ${operation.path} does not fit its schema: ${body}`);
}

type Tests = (server: () => TestServer, engine: TestEngine) => void;
type OptionsOfTests = () => TestServerOptions | Promise<TestServerOptions>;

/** The same tests on each engine, with one server for all of them. */
export function onEachEngine(name: string, tests: Tests, options?: OptionsOfTests): void {
  for (const engine of engines) onEngine(engine, name, tests, options);
}

/** Tests of what is beyond the database, with one server for all of them. */
export function onOneEngine(one: TestEngine, name: string, tests: Tests, options?: OptionsOfTests): void {
  for (const engine of oneEngine(one)) onEngine(engine, name, tests, options);
}

function onEngine(engine: TestEngine, name: string, tests: Tests, options: OptionsOfTests = () => ({})): void {
  describe(`${name} (${engine})`, () => {
    let server: TestServer;
    before(async () => {
      server = await startTestServer(engine, await options());
    });
    after(() => server.close());
    tests(() => server, engine);
  });
}
