import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { DatabaseKind } from "../src/storage/engine.ts";
import { Client } from "../test/support/client.ts";
import { leafIdsOf, newSparkWallet, Operators, type TestSparkWallet, transferOf } from "../test/support/spark.ts";
import { against, type Pace, paceOf, timed } from "./lanes.ts";
import { type BenchHooks, type RoundOptions, startServer } from "./rounds.ts";

/**
 * Spark through the server: shares per second in batches of 1, 30 and 300, and transfers of 1 and 100 leaves to 3 and 10
 * operators. One request at a time: a batch keeps the signer busy by itself. The floor of shares is the published WebAssembly,
 * which makes as many by itself: it is asked by nobody over a network, derives no keys, draws no nonces, checks nothing and stores nothing.
 */

export interface SparkBenchResult {
  engine: DatabaseKind;
  scenario: "shares" | "transfer";
  /** Signatures in a request, or leaves. */
  batch: number;
  operators: number;
  /** Shares, or leaves. */
  perSecond: number;
  /** Of a request. */
  p50Ms: number;
  p99Ms: number;
  /** Shares a second of the WebAssembly, and what the server makes of it; absent where its package is not installed. */
  floor?: number;
  ratio?: number;
}

const SHARE_OPERATORS = 3;
const BATCHES = [1, 30, 300];

/** The published WebAssembly, in a process of its own. */
const PACKAGE = "test/vectors/generate/spark";
const place = new URL(`../${PACKAGE}/`, import.meta.url);

export async function benchSpark(options: RoundOptions, hooks: BenchHooks<SparkBenchResult>): Promise<void> {
  const floor = startFloor(hooks.onStart);
  for (const engine of options.engines) {
    const { port, subject, key } = await startServer(engine, "spark", options, hooks.onStart);
    const client = new Client(`http://127.0.0.1:${port}`, subject.organizationId, key);
    const wallet = await newSparkWallet(client);
    for (const batch of BATCHES) {
      const measured = await measure(options, batch, sharesOf(client, wallet, batch), floor);
      hooks.report({ engine, scenario: "shares", batch, operators: SHARE_OPERATORS, ...measured });
    }
    for (const batch of [1, 100]) {
      for (const operators of [3, 10]) {
        const measured = await measure(options, batch, transferTo(client, wallet, batch, operators));
        hooks.report({ engine, scenario: "transfer", batch, operators, ...measured });
      }
    }
  }
}

function sharesOf(client: Client, { signWith, identityPublicKey }: TestSparkWallet, batch: number) {
  const operators = new Operators(2, SHARE_OPERATORS);
  const signing = operators.signing(operators.newLeaf(identityPublicKey), randomBytes(32));
  const signatures = leafIdsOf(batch).map((leafId) => signing.request({ signingLeaf: { leafId } }));
  return () => client.result("spark_sign_frost", { signWith, signatures });
}

function transferTo(client: Client, wallet: TestSparkWallet, leaves: number, count: number) {
  const { recipients } = new Operators(Math.ceil((count * 2) / 3), count);
  const transfer = transferOf(recipients, wallet.identityPublicKey, leafIdsOf(leaves));
  return () => client.result("spark_prepare_transfer", { signWith: wallet.signWith, transfer });
}

/** Resolves to how many batches a second it makes, for so long. */
type Floor = (batch: number, seconds: number) => Promise<Pace>;

/** Undefined, and said so, where the package is not installed. */
function startFloor(onStart: BenchHooks<never>["onStart"]): Floor | undefined {
  if (!existsSync(new URL("node_modules/", place))) {
    const command = `npm ci --ignore-scripts --prefix ${PACKAGE}`;
    process.stderr.write(`The published WebAssembly is not installed, so nothing is compared with it: ${command}\n`);
    return undefined;
  }
  // What the published package has to say besides is no part of its answers.
  const stdio = ["pipe", "pipe", "ignore"] as const;
  const child = spawn(process.execPath, [fileURLToPath(new URL("pace.ts", place))], { stdio: [...stdio] });
  const ended = new Promise((resolve) => child.once("close", resolve));
  onStart(async () => {
    child.kill();
    await ended;
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return async (batch, seconds) => {
    child.stdin.write(`${JSON.stringify({ batch, operators: SHARE_OPERATORS, seconds })}\n`);
    const { value, done } = await lines.next();
    if (done) throw new Error("the process of the published WebAssembly has ended");
    return JSON.parse(value) as Pace;
  };
}

/** Server and floor in turns. */
async function measure(
  { seconds, rounds }: RoundOptions,
  batch: number,
  request: () => Promise<unknown>,
  floor?: Floor,
): Promise<Pick<SparkBenchResult, "perSecond" | "p50Ms" | "p99Ms" | "floor" | "ratio">> {
  const own: Pace[] = [];
  const floors: Pace[] = [];
  for (let round = 0; round < rounds; round++) {
    if (floor) floors.push(ofEach(await floor(batch, seconds), batch));
    own.push(ofEach(await paceOf([undefined], () => timed(request), seconds), batch));
  }
  const { floor: floorPerSecond, ratio, ...pace } = against(own, floors);
  return floor ? { ...pace, floor: floorPerSecond, ratio } : pace;
}

/** What is in batches is told of each in them. */
const ofEach = (pace: Pace, batch: number): Pace => ({ ...pace, perSecond: pace.perSecond * batch });

export function lineOfSpark(result: SparkBenchResult, json: boolean): string {
  if (json) return JSON.stringify(result);
  const { engine, scenario, batch, operators, perSecond, p50Ms, p99Ms, floor, ratio } = result;
  const what = scenario === "shares" ? `shares, ${batch} at a time` : `leaves, ${batch} at a time`;
  const compared = floor === undefined ? "" : `; ${ratio} of the WebAssembly's ${floor}`;
  return `${engine} ${perSecond}/s ${what}, ${operators} operators; p50 ${p50Ms} ms, p99 ${p99Ms} ms${compared}`;
}
