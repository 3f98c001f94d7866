import { type ChildProcess, fork, spawn } from "node:child_process";
import { closeSync, mkdirSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { stamper } from "../src/crypto/make-stamp.ts";
import { builtProgram } from "../test/support/built-program.ts";
import { Client } from "../test/support/client.ts";
import type { FloorOptions } from "./floor.ts";
import type { LoadOptions, LoadReply, LoadRequest, LoadResult } from "./load.ts";
import { type AnyScenario, type Subject, scenarios } from "./scenarios.ts";

/** The processes of the benchmark. Whoever starts one stops it by its own handle. */

export interface Target {
  pid: number;
  port: number;
  stop(): Promise<void>;
}

export interface Product extends Target {
  subject: Subject;
  /** What commands beside it need. */
  folder: string;
  databaseUrl: string;
  key: Client["key"];
}

interface ProductOptions {
  /** For data, log and root key; new. */
  folder: string;
  databaseUrl: string;
  /** Where its CPU profile goes when it stops. */
  profileFolder?: string | undefined;
  /** Beside those that every benchmark has. */
  settings?: Record<string, string>;
}

/** A machine with other work may take ten times as long as one without. */
const START_DEADLINE_MS = 180_000;
const STOP_DEADLINE_MS = 15_000;

let built: Promise<{ keystead: string }> | undefined;

/** `bin/keystead.js` of the program as it is shipped, which is put together when it is first wanted. */
export async function shippedProgram(): Promise<string> {
  if (process.env.KEYSTEAD_TEST_PROGRAM) return process.env.KEYSTEAD_TEST_PROGRAM;
  built ??= builtProgram();
  return (await built).keystead;
}

/** The real server, as an operator runs it: default settings but without rates, its log going to a file. */
export async function startProduct({ folder, databaseUrl, profileFolder, settings }: ProductOptions): Promise<Product> {
  const program = await shippedProgram();
  mkdirSync(folder, { recursive: true });
  const log = openSync(join(folder, "keystead.log"), "a");
  const profiling = profileFolder === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profileFolder}`];
  const child = spawn(process.execPath, [...profiling, program, "serve"], {
    stdio: ["ignore", log, log],
    env: {
      ...withoutSettings(process.env),
      KEYSTEAD_DATA_DIR: folder,
      KEYSTEAD_PORT: "0",
      KEYSTEAD_ADMIN_PORT: "0",
      KEYSTEAD_ORGANIZATION_REQUESTS_PER_SECOND: "0",
      KEYSTEAD_CREDENTIAL_REQUESTS_PER_SECOND: "0",
      DATABASE_URL: databaseUrl,
      ...settings,
    },
  });
  closeSync(log);
  const stop = () => stopChild(child);
  try {
    const baseUrl = await untilServing(child, folder);
    const { organizationId, userId, key } = credentialsIn(folder);
    const client = new Client(baseUrl, organizationId, key);
    const subject = { organizationId, userId, privateKeyId: await createSigningKey(client) };
    const port = Number(new URL(baseUrl).port);
    return { pid: child.pid as number, port, subject, key, folder, databaseUrl, stop };
  } catch (error) {
    await stop();
    throw new Error(`the server did not start; its log says:\n${logIn(folder)}`, { cause: error });
  }
}

function withoutSettings(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const isSetting = (name: string) => name.startsWith("KEYSTEAD_") || name === "DATABASE_URL";
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !isSetting(name)));
}

async function untilServing(child: ChildProcess, folder: string): Promise<string> {
  const deadline = Date.now() + START_DEADLINE_MS;
  for (;;) {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error("it ended");
    if (Date.now() > deadline) throw new Error("it takes too long");
    try {
      const { baseUrl } = JSON.parse(readFileSync(join(folder, "address.json"), "utf8")) as { baseUrl: string };
      if ((await fetch(`${baseUrl}/readyz`)).ok) return baseUrl;
    } catch {
      // Not yet.
    }
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

function credentialsIn(folder: string): { organizationId: string; userId: string; key: Client["key"] } {
  const { organizationId, userId, apiKey } = JSON.parse(readFileSync(join(folder, "credentials.json"), "utf8"));
  return { organizationId, userId, key: apiKey };
}

async function createSigningKey(client: Client): Promise<string> {
  const { privateKeys } = await client.result("create_private_keys", {
    privateKeys: [{ privateKeyName: "Benchmark", curve: "CURVE_SECP256K1", addressFormats: [], privateKeyTags: [] }],
  });
  return privateKeys[0].privateKeyId;
}

function logIn(folder: string): string {
  try {
    return readFileSync(join(folder, "keystead.log"), "utf8");
  } catch {
    return "nothing";
  }
}

/** The bare server of floor.ts on a database of its own. */
export async function startFloor(options: FloorOptions): Promise<Target> {
  const child = fork(join(import.meta.dirname, "floor.ts"), [JSON.stringify(options)]);
  const port = await new Promise<number>((resolve, reject) => {
    child.once("message", (message) => resolve((message as { port: number }).port));
    child.once("exit", () => reject(new Error("the floor did not start")));
  });
  return { pid: child.pid as number, port, stop: () => stopChild(child) };
}

/** How long the product's answers to these are, by path. */
export async function answerBytesOf(
  { port, subject, key }: Pick<Product, "port" | "subject" | "key">,
  names: readonly AnyScenario[],
): Promise<Record<string, number>> {
  const stamp = stamper(key);
  const bytesOf = async (name: AnyScenario) => {
    const { path, body } = scenarios[name];
    const text = JSON.stringify(body(subject, FIRST_BODY));
    const headers = { "content-type": "application/json", "x-stamp": stamp(text) };
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { method: "POST", headers, body: text });
    if (!response.ok) throw new Error(`${path}: ${await response.text()}`);
    return [path, (await response.arrayBuffer()).byteLength] as const;
  };
  return Object.fromEntries(await Promise.all(names.map(bytesOf)));
}

/** No other request has its timestamp: load.ts begins at 0. */
const FIRST_BODY = 599_999;

/** The client of load.ts. It does one thing at a time. */
export interface Load {
  prepare(requests: number): Promise<void>;
  /** `onStart` and `onEnd` are called as the measured part begins and ends. */
  run(options: Omit<Extract<LoadRequest, { verb: "run" }>, "verb">, hooks: RunHooks): Promise<LoadResult>;
  stop(): Promise<void>;
}

interface RunHooks {
  onStart: () => void;
  onEnd: () => void;
}

export function startLoad(options: LoadOptions): Load {
  const child = fork(join(import.meta.dirname, "load.ts"));
  child.send({ verb: "begin", ...options } satisfies LoadRequest);
  const ask = (request: LoadRequest, onReply: (reply: LoadReply) => boolean): Promise<void> =>
    new Promise((resolve, reject) => {
      const onMessage = (reply: LoadReply) => {
        if (!onReply(reply)) return;
        child.off("message", onMessage).off("exit", onExit);
        resolve();
      };
      const onExit = () => reject(new Error("the load ended early"));
      child.on("message", onMessage).once("exit", onExit);
      child.send(request);
    });
  return {
    prepare: (requests) => ask({ verb: "prepare", requests }, ({ kind }) => kind === "prepared"),
    async run(run, { onStart, onEnd }) {
      let result: LoadResult | undefined;
      await ask({ verb: "run", ...run }, (reply) => {
        if (reply.kind === "measuring") onStart();
        if (reply.kind === "measured") onEnd();
        if (reply.kind === "result") result = reply.result;
        return reply.kind === "result";
      });
      return result as LoadResult;
    },
    stop: () => stopChild(child),
  };
}

/** Asks it to stop, and makes it stop if it does not. */
async function stopChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGTERM");
  const timer = setTimeout(() => child.kill("SIGKILL"), STOP_DEADLINE_MS);
  await exit;
  clearTimeout(timer);
}
