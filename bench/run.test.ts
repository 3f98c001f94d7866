import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { chmodSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { areLong } from "../test/support/long-tests.ts";
import { noSparkPackage } from "../test/support/spark-published.ts";
import { processTree } from "./cpu.ts";

let folder: string;
before(() => {
  folder = mkdtempSync(join(tmpdir(), "keystead-bench-test-"));
  // PostgreSQL does not run as root, and comes to its files by this.
  chmodSync(folder, 0o755);
});
after(() => rmSync(folder, { recursive: true, force: true }));

/** Who changes the benchmark runs what was changed: an ordinary run of the tests has the main part of it and two others. */
const inLongRuns: (name: string, run: () => Promise<void>) => void = areLong ? test : () => {};

interface Ended {
  code: number | null;
  out: string;
  err: string;
}

/** Runs the benchmark with a folder for temporary files of its own; `onProgress` is told of each line. */
function bench(args: string[], onProgress: (line: string, pid: number) => void = () => {}): Promise<Ended> {
  const { KEYSTEAD_TEST_PACKAGES: packages } = process.env;
  const child = spawn(
    process.execPath,
    [...(packages ? [packages] : []), join(import.meta.dirname, "run.ts"), ...args],
    {
      env: { ...process.env, TMPDIR: folder },
    },
  );
  let [out, err] = ["", ""];
  child.stdout.on("data", (chunk) => {
    out += chunk;
  });
  child.stderr.on("data", (chunk) => {
    err += chunk;
    onProgress(String(chunk), child.pid as number);
  });
  return new Promise((resolve) => child.once("close", (code) => resolve({ code, out, err })));
}

/** What it prints as JSON, once it has ended well and left nothing behind. */
async function resultsOf(...args: string[]) {
  const { code, out, err } = await bench([...args, "--json", "sqlite"]);
  assert.equal(code, 0, err);
  assert.deepEqual(readdirSync(folder), []);
  return out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
}

test("each scenario is a line of JSON, and nothing stays behind", async () => {
  const lines = await resultsOf("--seconds", "0.3", "--rounds", "1", "--connections", "4");
  assert.deepEqual(
    lines.map(({ engine, scenario }) => `${engine} ${scenario}`),
    ["sqlite read", "sqlite write", "sqlite sign"],
  );
  const figures = ["perSecond", "floor", "ratio", "p50Ms", "p99Ms", "bareFloor", "bareRatio"];
  for (const line of lines) {
    assert.deepEqual(Object.keys(line), ["engine", "scenario", ...figures]);
    for (const figure of figures) assert.ok(line[figure] > 0, JSON.stringify(line));
    assert.ok(line.p50Ms <= line.p99Ms);
  }
});

test("people who sign in are a line for each way", async () => {
  const lines = await resultsOf("signin", "--seconds", "0.3", "--rounds", "1", "--connections", "2");
  assert.deepEqual(
    lines.map(({ flow }) => flow),
    ["otp_login", "signup_v2", "stamp_login"],
  );
  for (const line of lines) {
    for (const figure of ["perSecond", "p50Ms", "p99Ms", "cpuMs"]) assert.ok(line[figure] > 0, JSON.stringify(line));
  }
});

inLongRuns("a distant database is a line for each distance", async () => {
  const lines = await resultsOf("distance", "--seconds", "0.2", "--rounds", "1", "--connections", "1");
  const distances = [0, 2, 10];
  assert.deepEqual(
    lines.map(({ scenario, distanceMs }) => [scenario, distanceMs]),
    ["read", "write", "sign"].flatMap((scenario) => distances.map((distance) => [scenario, distance])),
  );
  for (const line of lines) {
    assert.ok(line.perSecond > 0 && line.p50Ms <= line.p99Ms, JSON.stringify(line));
    assert.equal(line.waits === undefined, line.distanceMs === 0);
  }
});

inLongRuns("what operators switch on is a line for each, with a backup and a noisy tenant", async () => {
  const args = ["operations", "--seconds", "0.2", "--rounds", "1", "--connections", "2", "--keys", "5"];
  const lines = await resultsOf(...args);
  assert.deepEqual(
    lines.map(({ scenario, of, requests }) => [scenario, of, requests].filter(Boolean).join(" ")),
    [
      ...["limits", "traces", "audit", "together"].flatMap((of) => [`cost ${of} read`, `cost ${of} write`]),
      "backup",
      "noisy-tenant",
    ],
  );
  for (const line of lines.slice(0, 8)) {
    for (const figure of [line.ratio, ...line.perSecond]) assert.ok(figure > 0, JSON.stringify(line));
    // In steps of 10 ms: few requests may take none.
    for (const figure of line.cpuMs) assert.ok(figure >= 0, JSON.stringify(line));
  }
  const [backup, noise] = lines.slice(8);
  assert.equal(backup.keys, 5);
  for (const { seconds, cpuSeconds, peakMiB } of [backup.backup, backup.verify])
    assert.ok(seconds > 0 && cpuSeconds > 0 && peakMiB > 0, JSON.stringify(backup));
  for (const figure of [noise.p99Ratio, noise.noisyPerSecond, ...noise.p50Ms, ...noise.p99Ms])
    assert.ok(figure > 0, JSON.stringify(noise));
});

inLongRuns("many parties are a line for each kind and each kind of request", async () => {
  const lines = await resultsOf("many", "--seconds", "0.2", "--rounds", "1", "--connections", "2", "--parties", "11");
  assert.deepEqual(
    lines.map(({ of, scenario, parties }) => `${parties} ${of} ${scenario}`),
    ["organizations", "users"].flatMap((of) => ["read", "write", "sign"].map((scenario) => `11 ${of} ${scenario}`)),
  );
  for (const { perSecond, p50Ms, p99Ms, cpuMs, ratio } of lines) {
    for (const figure of [...p50Ms, ...p99Ms]) assert.ok(figure > 0);
    // Of so short a round there may be no tick of the CPU, and on a busy machine hardly a request.
    for (const figure of [...perSecond, ...cpuMs, ratio]) assert.ok(figure >= 0, String(figure));
  }
});

inLongRuns("years of activities are a line for each kind of request, and one for what they take", async () => {
  const lines = await resultsOf(
    "years",
    "--seconds",
    "0.2",
    "--rounds",
    "1",
    "--connections",
    "2",
    "--activities",
    "2000",
    "--tenants",
    "200",
  );
  assert.deepEqual(
    lines.map(({ scenario }) => scenario),
    ["newest_page", "old_page", "old_activity", "tenants_page", "tenant_of_key", "read", "write", "sign", "size"],
  );
  for (const { p50Ms, p99Ms } of lines.slice(0, -1)) for (const figure of [...p50Ms, ...p99Ms]) assert.ok(figure > 0);
  const { activities, bytes, bytesOfOne, startSeconds, residentMiB } = lines.at(-1);
  assert.equal(activities, 2000);
  // A thousand more than beside it.
  assert.ok(bytes > 2000 * 500 && bytesOfOne > 500, `${bytes} bytes, ${bytesOfOne} for each`);
  for (const figure of [...startSeconds, ...residentMiB]) assert.ok(figure > 0);
});

test("swaps are a line for quotes and one for executions", async () => {
  const lines = await resultsOf("swaps", "--seconds", "0.3", "--rounds", "1");
  assert.deepEqual(
    lines.map(({ scenario }) => scenario),
    ["quotes", "executions"],
  );
  for (const line of lines) {
    for (const figure of ["perSecond", "floor", "ratio", "p50Ms", "p99Ms"])
      assert.ok(line[figure] > 0, JSON.stringify(line));
    assert.ok(line.p50Ms <= line.p99Ms);
  }
});

inLongRuns(
  "Spark is a line for shares in each size of batch and for transfers, and the published WebAssembly makes shares beside it",
  async () => {
    const lines = await resultsOf("spark", "--seconds", "0.1", "--rounds", "1");
    assert.deepEqual(
      lines.map(({ scenario, batch, operators }) => `${scenario} ${batch} ${operators}`),
      [
        ...["shares 1 3", "shares 30 3", "shares 300 3"],
        ...["transfer 1 3", "transfer 1 10", "transfer 100 3", "transfer 100 10"],
      ],
    );
    for (const line of lines) {
      for (const figure of ["perSecond", "p50Ms", "p99Ms"]) assert.ok(line[figure] > 0, JSON.stringify(line));
      const isCompared = !noSparkPackage && line.scenario === "shares";
      assert.equal("ratio" in line, isCompared);
      if (isCompared) assert.ok(line.floor > 0 && line.ratio > 0, JSON.stringify(line));
    }
  },
);

inLongRuns(
  "chains are a line for sends on each kind, and one of the watcher for each number of addresses",
  async () => {
    const lines = await resultsOf("chains", "--seconds", "0.3", "--rounds", "1", "--addresses", "10");
    assert.deepEqual(
      lines.map(({ scenario, addresses }) => [scenario, addresses]),
      [
        ["ethereum-sends", undefined],
        ["solana-sends", undefined],
        ["watcher", 10],
      ],
    );
    for (const line of lines) {
      assert.ok((line.perSecond ?? line.blocksPerSecond) > 0 && line.floor > 0 && line.ratio > 0, JSON.stringify(line));
    }
    const [watcher] = lines.filter(({ scenario }) => scenario === "watcher");
    assert.ok(watcher?.cpuMs > 0, JSON.stringify(watcher));
    assert.deepEqual([watcher?.paceToFewest, watcher?.cpuToFewest], [1, 1]);
  },
);

test("an interrupt stops every process and removes the folders", { skip: process.platform !== "linux" }, async () => {
  let running: number[] = [];
  const { code } = await bench(["--seconds", "0.3", "--rounds", "100", "sqlite", "read"], (line, pid) => {
    if (!line.includes("1/100") || running.length > 0) return;
    running = processTree(pid).filter((member) => member !== pid);
    process.kill(pid, "SIGINT");
  });
  assert.equal(code, 130);
  // The server, its signer, both floors and the load.
  assert.equal(running.length, 5);
  assert.deepEqual(running.filter(isAlive), []);
  assert.deepEqual(readdirSync(folder), []);
});

test("words that mean nothing here are refused", async () => {
  const { code, err } = await bench(["reed"]);
  assert.equal(code, 1);
  assert.match(err, /reed is neither an engine nor a scenario/);
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
