import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { DatabaseKind } from "../src/storage/engine.ts";
import { Client } from "../test/support/client.ts";
import { leafIdsOf, newSparkWallet, Operators, type TestSparkWallet, transferOf } from "../test/support/spark.ts";
import { noSparkPackage, sparkPackage } from "../test/support/spark-published.ts";
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

export async function benchSpark(options: RoundOptions, hooks: BenchHooks<SparkBenchResult>): Promise<void> {
  const floor = startFloor(hooks.onStart);
  for (const engine of options.engines) {
    const { port, subject, key, stop } = await startServer(engine, "spark", options, hooks.onStart);
    const client = new Client(`http://127.0.0.1:${port}`, subject.organizationId, key);
    const wallet = await newSparkWallet(client);
    for (const batch of [1, 30, 300]) {
      const measured = await measure(options, batch, sharesOf(client, wallet, batch), floor);
      hooks.report({ engine, scenario: "shares", batch, operators: SHARE_OPERATORS, ...measured });
    }
    for (const batch of [1, 100]) {
      for (const operators of [3, 10]) {
        const measured = await measure(options, batch, transferTo(client, wallet, batch, operators));
        hooks.report({ engine, scenario: "transfer", batch, operators, ...measured });
      }
    }
    await stop();
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

/** Makes batches of shares for so many seconds; resolves to its pace in batches. */
type Floor = (batch: number, seconds: number) => Promise<Pace>;

/** The published WebAssembly in a process of its own. Undefined, and said so, where its package is not installed. */
function startFloor(onStart: BenchHooks<never>["onStart"]): Floor | undefined {
  if (noSparkPackage) {
    process.stderr.write(`Nothing is compared with the published WebAssembly: ${noSparkPackage}\n`);
    return undefined;
  }
  const script = fileURLToPath(new URL("pace.ts", sparkPackage));
  // The SDK speaks of itself on standard error.
  const child = spawn(process.execPath, [script], { stdio: ["pipe", "pipe", "ignore"] });
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

/** From batches a second to shares or leaves a second. */
const ofEach = (pace: Pace, batch: number): Pace => ({ ...pace, perSecond: pace.perSecond * batch });

export function lineOfSpark(result: SparkBenchResult, json: boolean): string {
  if (json) return JSON.stringify(result);
  const { engine, scenario, batch, operators, perSecond, p50Ms, p99Ms, floor, ratio } = result;
  const what = scenario === "shares" ? `shares, ${batch} at a time` : `leaves, ${batch} at a time`;
  const compared = floor === undefined ? "" : `; ${ratio} of the WebAssembly's ${floor}`;
  return `${engine} ${perSecond}/s ${what}, ${operators} operators; p50 ${p50Ms} ms, p99 ${p99Ms} ms${compared}`;
}
