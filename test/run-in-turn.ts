import { AsyncResource } from "node:async_hooks";
import { createRequire } from "node:module";
import { resolve } from "node:path";
import { after, describe } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { endOfFile } from "./support/end-of-file.ts";
import { Queue } from "./support/file-queue.ts";

/**
 * A process that runs test files one after the other, each as a suite of that name, for as long as there are any
 * (docs/adr/0136-test-files-that-share-a-process.md): modules are loaded and compiled once.
 */

const [folder = "", name = ""] = process.argv.slice(2);
const queue = new Queue(folder);
const require = createRequire(import.meta.url);

/** One that has grown so far ends, and another takes its place. */
const MOST_BYTES = 768 * 1024 ** 2;

// Node's test runner fails the test that an error came from, or where it does not know that, the process.
for (const event of ["uncaughtException", "unhandledRejection"]) {
  process.on(event, (error: unknown) => queue.noteError(name, error));
}

// Whoever is stopped takes along what tests have started: that hangs on the end of the process.
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(1));

// After an `await`, what is declared would belong to whatever was waited for.
const outside = new AsyncResource("Outside of all tests");
const suiteOf = (file: string) =>
  outside.runInAsyncScope(() =>
    describe(file, () => {
      try {
        // At once, as a suite's tests have to be declared.
        require(resolve(file));
      } finally {
        after(endOfFile);
      }
    }),
  );

for (let file = queue.take(name); file !== undefined; file = queue.take(name)) {
  await suiteOf(file);
  // What came to nothing only now is of this file.
  await turn();
  queue.finish(name);
  if (process.memoryUsage.rss() > MOST_BYTES) break;
}
