import { globSync } from "node:fs";
import { availableParallelism } from "node:os";
import { relative } from "node:path";
import { run } from "node:test";
import { spec } from "node:test/reporters";
import { noBrowser } from "./support/browser.ts";

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
  "test/history/",
  "test/lifecycle/outages",
  "test/lifecycle/readiness",
  "test/webhooks/",
];
/** So many that work are begun for each that waits, as long as there are some of both. */
const BUSY_FOR_EACH_WAITING = 2;

const nameOf = (file: string): string => relative(process.cwd(), file);
const rankOf = (file: string): number => {
  const rank = LONGEST.findIndex((begin) => nameOf(file).startsWith(begin));
  return rank < 0 ? LONGEST.length : rank;
};

/** Files that wait and files that work by turns, each in their order. */
function mixed(files: readonly string[]): string[] {
  const waits = (file: string) => WAITING.some((begin) => nameOf(file).startsWith(begin));
  const busy = files.filter((file) => !waits(file));
  const turns = files.filter(waits).map((file) => [file, ...busy.splice(0, BUSY_FOR_EACH_WAITING)]);
  return [...turns.flat(), ...busy];
}

/** Ends what hangs; a loaded machine may take its time. */
const HANGS_AFTER_MS = 2_400_000;
/** Two for each processor and one that waits; each has a server, and those share one PostgreSQL. */
const concurrency = Math.min(3 * availableParallelism(), 12);
/** How many files are named at the end with the time they took. */
const NAMED = 12;

/** What begins with a dash is for Node, in the process of each file. */
const [execArgv, patterns] = [true, false].map((isOption) =>
  process.argv.slice(2).filter((argument) => argument.startsWith("-") === isOption),
) as [string[], string[]];
// Packages under these folders have tests of their own.
const ranked = globSync(patterns.length > 0 ? patterns : ALL, { exclude: ["**/node_modules/**"] }).sort(
  (a, b) => rankOf(a) - rankOf(b) || (a < b ? -1 : 1),
);
const files = mixed(ranked);
if (files.length === 0) {
  process.stderr.write(`there is no test file ${patterns.join(" ")}\n`);
  process.exit(1);
}
const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => stop.abort());

const durations: [file: string, milliseconds: number][] = [];
process.once("exit", () => {
  if (durations.length < 2) return;
  const longest = durations.sort(([, a], [, b]) => b - a).slice(0, NAMED);
  const lines = longest.map(([file, ms]) => `${(ms / 1000).toFixed(1).padStart(7)} s  ${nameOf(file)}`);
  process.stdout.write(`\nThe longest files:\n${lines.join("\n")}\n`);
});
// After whatever else is told, so that nobody takes the run for a whole one.
process.once("exit", () => {
  if (noBrowser) process.stdout.write(`\nLeft out: what is tested in a browser. ${noBrowser}.\n`);
});
const { KEYSTEAD_TEST_PACKAGES: packages } = process.env;
if (packages !== undefined) execArgv.unshift(packages);
execArgv.unshift(`--import=${new URL("support/no-promise-hooks.js", import.meta.url).href}`);
const failed = new Set<string>();
run({ files, execArgv, concurrency, timeout: HANGS_AFTER_MS, signal: stop.signal })
  .on("test:fail", ({ file }) => {
    process.exitCode = 1;
    // Of a file that ended before its time; tests may be declared by what files share.
    if (file !== undefined && files.includes(nameOf(file))) failed.add(nameOf(file));
  })
  .on("test:summary", ({ file, success, duration_ms }) => {
    if (file === undefined) return;
    durations.push([file, duration_ms]);
    if (!success) failed.add(nameOf(file));
  })
  .on("end", () => {
    // To test/run.ts, which may give them a second attempt.
    process.send?.({ failed: [...failed] });
    if (process.connected) process.disconnect();
  })
  .compose(spec)
  .pipe(process.stdout);
