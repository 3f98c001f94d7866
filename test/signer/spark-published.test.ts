import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { newId } from "../../src/kernel/ids.ts";
import { assertPayloads, assertShare, type PayloadCase, type ShareCase } from "../support/spark-cases.ts";
import { noSparkPackage, sparkPackage } from "../support/spark-published.ts";

/** Ours beside the published SDK of Spark, its WebAssembly among it, on inputs that are others at each run. */

interface Printed {
  frost: ShareCase[];
  payloads: PayloadCase[];
}

describe("the published SDK of Spark", { skip: noSparkPackage }, () => {
  it("makes the same shares and hashes of the same inputs", async () => {
    const seed = newId();
    const script = fileURLToPath(new URL("print.ts", sparkPackage));
    // The SDK speaks of itself on standard error.
    const { stdout } = await promisify(execFile)(process.execPath, [script, seed], { maxBuffer: 2 ** 24 });
    const { frost, payloads } = JSON.parse(stdout) as Printed;
    assert.ok(frost.length >= 50 && payloads.length >= 50);
    assert.ok(frost.some((one) => one.adaptorPublicKey) && frost.some((one) => !one.adaptorPublicKey));
    assert.equal(new Set(frost.map(({ share }) => share)).size, frost.length);
    for (const [at, one] of frost.entries()) named(`share ${at} of the seed ${seed}`, () => assertShare(one));
    for (const [at, one] of payloads.entries()) named(`hashes ${at} of the seed ${seed}`, () => assertPayloads(one));
  });
});

function named(name: string, check: () => void): void {
  try {
    check();
  } catch (error) {
    throw new Error(name, { cause: error });
  }
}
