import { appendFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { Type } from "typebox";
import { job } from "../../src/engine/jobs/jobs.ts";
import { JobWorker } from "../../src/engine/jobs/worker.ts";
import { createLogger } from "../../src/kernel/log.ts";
import { openDatabase } from "../../src/storage/database.ts";

/**
 * A process that runs jobs until it is told to stop: `job-process.ts <database URL> <file>`. Each run appends the number
 * of its job to the file; a job of the kind `hang` never ends after that.
 */
const [url = "", file = ""] = process.argv.slice(2);
const database = openDatabase({ url });
const payload = Type.Object({ number: Type.Integer() });
const note = (number: number) => appendFileSync(file, `${number}\n`);
const kinds = [
  job({
    name: "count",
    payload,
    run: async (context) => {
      note(context.payload.number);
      await delay(1);
      return { next: { do: "finish" } };
    },
  }),
  job({
    name: "hang",
    payload,
    run: (context) => {
      note(context.payload.number);
      return new Promise(() => undefined);
    },
  }),
];
const surroundings = { database, clock: Date.now, log: createLogger("silent") };
// These kinds need and ask nothing.
const worker = new JobWorker({ surroundings, services: {} as never, signer: {} as never, kinds, pollMs: 20 });
await worker.start();
process.send?.("running");
process.on("message", async () => {
  await worker.stop();
  await database.close();
  process.exit();
});
