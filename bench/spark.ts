import { randomBytes } from "node:crypto";
import type { DatabaseKind } from "../src/storage/engine.ts";
import { Client } from "../test/support/client.ts";
import { leafIdsOf, newSparkWallet, Operators, type TestSparkWallet, transferOf } from "../test/support/spark.ts";
import { type BenchHooks, type RoundOptions, startServer } from "./rounds.ts";
import { percentile } from "./statistics.ts";

/**
 * Spark through the server: shares per second in batches of 1, 30 and 300, and transfers of 1 and 100 leaves to 3 and 10
 * operators. One request at a time: a batch keeps the signer busy by itself.
 */

export interface SparkBenchResult {
  engine: DatabaseKind;
  scenario: "shares" | "transfer";
  /** Signatures in a request, or leaves. */
  batch: number;
  operators: number;
  /** Shares, or leaves. */
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
}

const SHARE_OPERATORS = 3;

export async function benchSpark(options: RoundOptions, hooks: BenchHooks<SparkBenchResult>): Promise<void> {
  for (const engine of options.engines) {
    const { port, subject, key } = await startServer(engine, "spark", options, hooks.onStart);
    const client = new Client(`http://127.0.0.1:${port}`, subject.organizationId, key);
    const wallet = await newSparkWallet(client);
    for (const batch of [1, 30, 300]) {
      const measured = await measure(options, batch, sharesOf(client, wallet, batch));
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

/** For as long as all rounds together would take; the first request is not counted. */
async function measure(
  { seconds, rounds }: RoundOptions,
  batch: number,
  request: () => Promise<unknown>,
): Promise<Pick<SparkBenchResult, "perSecond" | "p50Ms" | "p99Ms">> {
  await request();
  const times: number[] = [];
  const end = performance.now() + seconds * rounds * 1000;
  for (let now = performance.now(); now < end || times.length === 0; ) {
    await request();
    times.push(performance.now() - now);
    now = performance.now();
  }
  const total = times.reduce((sum, time) => sum + time, 0);
  const sorted = Float64Array.from(times).sort();
  const rounded = (value: number) => Number(value.toFixed(1));
  return {
    perSecond: rounded((times.length * batch * 1000) / total),
    p50Ms: rounded(percentile(sorted, 0.5)),
    p99Ms: rounded(percentile(sorted, 0.99)),
  };
}

export function lineOfSpark(result: SparkBenchResult, json: boolean): string {
  if (json) return JSON.stringify(result);
  const { engine, scenario, batch, operators, perSecond, p50Ms, p99Ms } = result;
  const what = scenario === "shares" ? `shares, ${batch} at a time` : `leaves, ${batch} at a time`;
  return `${engine} ${perSecond}/s ${what}, ${operators} operators; p50 ${p50Ms} ms, p99 ${p99Ms} ms`;
}
