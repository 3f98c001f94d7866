import { globSync, mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join, relative } from "node:path";
import { run } from "node:test";
import { spec } from "node:test/reporters";
import { fileURLToPath } from "node:url";
import { Report, type TestEvent } from "./report.ts";
import { noBrowser } from "./support/browser.ts";
import { Queue } from "./support/file-queue.ts";

/**
 * Runs test files with Node's test runner, several at a time and the longest first: nobody waits for one long file at the end. Those
 * that wait for most of their time (for a lease, a back-off, a block) run beside those that work.
 */

const ALL = ["src/**/*.test.ts", "test/**/*.test.ts", "bench/*.test.ts"];

/** Begins of paths, those of the longest files first. All others come after them, in the order of their paths. */
const LONGEST = [
  "test/generated/authorization-matrix",
  "test/generated/bad-input",
  "test/crash/",
  "test/browser/console",
  "test/api/sol-send",
  "test/api/eth-send",
  "test/api/authorization-corpus",
  "test/api/sending",
  "test/lifecycle/recover",
  "test/lifecycle/root-key",
  "test/generated/",
  "test/lifecycle/",
  "test/jobs/",
  "test/backup/",
  "test/races/",
  "test/webhooks/",
  "test/bounds/",
  "bench/",
  "test/engine/",
  "test/api/",
];
/** Begins of paths of files that wait more than they work. */
const WAITING = [
  "test/crash/",
  "test/api/eth-send",
  "test/api/sending",
  "test/api/sol-send",
  "test/api/two-faced-nodes",
  "test/history/",
  "test/lifecycle/outages",
  "test/lifecycle/readiness",
  "test/webhooks/",
];
/**
 * Begins of paths of files that have a process to themselves: they measure it, or change what belongs to the whole of it. All
 * others take turns in a few processes.
 */
const ALONE = [
  "bench/",
  // It measures memory, pauses and the event loop.
  "test/bounds/",
  "test/api/fair-signing",
  "test/signer/fairness",
  "src/kernel/turns",
  // They have V8 show its garbage collector, and measure memory.
  "test/api/smart-contract-interfaces",
  "src/kernel/memory-size",
  "test/policy/remembered-values",
  // They pretend to be a browser, and import at their top what can only be imported after that.
  "test/api/core-sdk",
  "test/lifecycle/auth-proxy-guide",
  // Vite changes the environment.
  "test/browser/handbook",
  // What it records has numbers in it that support files count up.
  "test/generated/examples",
  // It changes PATH.
  "test/scripts/earlier-version",
];
const IN_TURN = fileURLToPath(new URL("run-in-turn.ts", import.meta.url));

/** So many that work are begun for each that waits, as long as there are some of both. */
const BUSY_FOR_EACH_WAITING = 2;

const isAlone = (file: string): boolean => ALONE.some((begin) => file.startsWith(begin));
const rankOf = (file: string): number => {
  const rank = LONGEST.findIndex((begin) => file.startsWith(begin));
  return rank < 0 ? LONGEST.length : rank;
};

/** Files that wait and files that work by turns, each in their order. */
function mixed(files: readonly string[]): string[] {
  const waits = (file: string) => WAITING.some((begin) => file.startsWith(begin));
  const busy = files.filter((file) => !waits(file));
  const turns = files.filter(waits).map((file) => [file, ...busy.splice(0, BUSY_FOR_EACH_WAITING)]);
  return [...turns.flat(), ...busy];
}

/** Ends what hangs; a loaded machine may take its time. */
const HANGS_AFTER_MS = Number(process.env.KEYSTEAD_TEST_HANGS_AFTER_MS ?? 2_400_000);
/** Two for each processor and one that waits; each has a server, and those share one PostgreSQL. */
const concurrency = Number(process.env.KEYSTEAD_TEST_AT_ONCE ?? Math.min(3 * availableParallelism(), 12));
/** How many files are named at the end with the time they took. */
const NAMED = 12;

/** What begins with a dash is for Node, in the process of each file. */
const [execArgv, patterns] = [true, false].map((isOption) =>
  process.argv.slice(2).filter((argument) => argument.startsWith("-") === isOption),
) as [string[], string[]];
// Packages under these folders have tests of their own.
const found = globSync(patterns.length > 0 ? patterns : ALL, { exclude: ["**/node_modules/**"] });
const ranked = found
  .map((file) => relative(process.cwd(), file))
  .sort((a, b) => rankOf(a) - rankOf(b) || (a < b ? -1 : 1));
const files = mixed(ranked);
if (files.length === 0) {
  process.stderr.write(`there is no test file ${patterns.join(" ")}\n`);
  process.exit(1);
}
const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => stop.abort());

const { KEYSTEAD_TEST_PACKAGES: packages } = process.env;
if (packages !== undefined) execArgv.unshift(packages);
execArgv.unshift(`--import=${new URL("support/no-promise-hooks.js", import.meta.url).href}`);

const areChosen = execArgv.some((argument) => /^--test-(?:name-pattern|skip-pattern|only)\b/.test(argument));
const report = new Report(files, { areChosen });
report.events.compose(spec).pipe(process.stdout);

// A file that is alone has nobody to share with.
const together = files.length > 1 ? files.filter((file) => !isAlone(file)) : [];
const queue = Queue.write(mkdtempSync(join(tmpdir(), "keystead-files-")), together);
let processes = 0;

/** Runs a file in a process that it has to itself. */
async function runAlone(file: string): Promise<void> {
  for await (const event of run({ files: [file], execArgv, timeout: HANGS_AFTER_MS, signal: stop.signal })) {
    report.ofFile(file, event as TestEvent);
  }
  report.fileEnded(file);
}

/** Runs files of the queue in a process that takes them in turn; what it leaves, another one takes. */
async function runInTurn(): Promise<void> {
  if (queue.isEmpty) return;
  const name = `process-${processes++}`;
  const hangs = new AbortController();
  const watch = setTimeout(() => hangs.abort(), HANGS_AFTER_MS);
  const signal = AbortSignal.any([stop.signal, hangs.signal]);
  for await (const event of run({ files: [IN_TURN], execArgv, argv: [queue.folder, name], signal })) {
    if (report.ofProcess(name, event as TestEvent)) watch.refresh();
  }
  clearTimeout(watch);
  report.processEnded(name, queue.takenBy(name));
  if (!stop.signal.aborted) await runInTurn();
}

// Half of the places for files in turn while there are others, and all of them after that.
const half = Array.from({ length: Math.ceil(concurrency / 2) }, () => runInTurn);
const alone = files.filter((file) => !together.includes(file)).map((file) => () => runAlone(file));
const works = [...half, ...alone, ...half];
const place = async (): Promise<void> => {
  for (let work = works.shift(); work !== undefined && !stop.signal.aborted; work = works.shift()) await work();
};
await Promise.all(Array.from({ length: concurrency }, place));
report.end(stop.signal.aborted);
rmSync(queue.folder, { recursive: true });

const longest = [...report.durations].sort(([, a], [, b]) => b - a).slice(0, NAMED);
const lines = longest.map(([file, ms]) => `${(ms / 1000).toFixed(1).padStart(7)} s  ${file}`);
process.once("exit", () => {
  if (lines.length > 1) process.stdout.write(`\nThe longest files:\n${lines.join("\n")}\n`);
  // After whatever else is told, so that nobody takes the run for a whole one.
  if (noBrowser) process.stdout.write(`\nLeft out: what is tested in a browser. ${noBrowser}.\n`);
});
const { failed } = report;
if (failed.length > 0 || stop.signal.aborted) process.exitCode = 1;
// To test/run.ts, which may give them a second attempt.
process.send?.({ failed });
if (process.connected) process.disconnect();
