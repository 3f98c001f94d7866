import { globSync } from "node:fs";
import { availableParallelism } from "node:os";
import { relative } from "node:path";
import { run } from "node:test";
import { spec } from "node:test/reporters";

/** Runs test files with Node's test runner, several at a time and the longest first: nobody waits for one long file at the end. */

const ALL = ["src/**/*.test.ts", "test/**/*.test.ts", "bench/*.test.ts"];

/** Begins of paths, those of the longest files first. All others come after them, in the order of their paths. */
const LONGEST = [
  "test/generated/bad-input",
  "test/crash/",
  "test/api/authorization-corpus",
  "test/api/sending",
  "test/lifecycle/root-key",
  "test/generated/",
  "test/lifecycle/",
  "test/jobs/",
  "test/races/",
  "test/webhooks/",
  "test/bounds/",
  "bench/",
  "test/engine/",
  "test/api/",
];
const nameOf = (file: string): string => relative(process.cwd(), file);
const rankOf = (file: string): number => {
  const rank = LONGEST.findIndex((begin) => nameOf(file).startsWith(begin));
  return rank < 0 ? LONGEST.length : rank;
};

/** Ends what hangs; a loaded machine may take its time. */
const HANGS_AFTER_MS = 3_600_000;
/** Two for each processor, as many tests wait; each has a server, and those share one PostgreSQL. */
const concurrency = Math.min(2 * availableParallelism(), 8);
/** How many files are named at the end with the time they took. */
const NAMED = 12;

/** What begins with a dash is for Node, in the process of each file. */
const [execArgv, patterns] = [true, false].map((isOption) =>
  process.argv.slice(2).filter((argument) => argument.startsWith("-") === isOption),
) as [string[], string[]];
const files = globSync(patterns.length > 0 ? patterns : ALL).sort((a, b) => rankOf(a) - rankOf(b) || (a < b ? -1 : 1));
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
run({ files, execArgv, concurrency, timeout: HANGS_AFTER_MS, signal: stop.signal })
  .on("test:fail", () => {
    process.exitCode = 1;
  })
  .on("test:summary", ({ file, duration_ms }) => {
    if (file !== undefined) durations.push([file, duration_ms]);
  })
  .compose(spec)
  .pipe(process.stdout);
