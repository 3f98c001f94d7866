import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "node:test";
import { Registry } from "prom-client";
import { engines, freshDatabaseUrl } from "../../../test/support/server.ts";
import { MAX_COUNTED_JOBS } from "../../kernel/limits.ts";
import { openDatabase } from "../../storage/database.ts";
import { measureJobs } from "./jobs.ts";

for (const engine of engines) {
  it(`the job that has been due for longest is found behind any number of others (${engine})`, async (test) => {
    const folder = mkdtempSync(join(tmpdir(), "keystead-jobs-"));
    test.after(() => rmSync(folder, { recursive: true, force: true }));
    const database = openDatabase({ url: await freshDatabaseUrl(engine, folder) });
    test.after(() => database.close());
    await database.migrate();
    const registry = new Registry();
    const now = 1_800_000_000_000;
    measureJobs(registry, database.read, () => now);
    const oldestDue = async () =>
      (await registry.getSingleMetric("keystead_job_oldest_due_seconds")?.get())?.values.map(({ value }) => value);
    assert.deepEqual(await oldestDue(), [0], "none waits");

    const add = (first: number, count: number, runAt: number, state: "waiting" | "dead") =>
      database.transact("jobs", async (tx) => {
        for (let done = 0; done < count; done += 1000) {
          const rows = Array.from({ length: Math.min(1000, count - done) }, (_, at) => ({
            id: String(first + done + at).padStart(8, "0"),
            lane: "lane",
            kind: "kind",
            payload: "{}",
            state,
            run_at: runAt,
            attempts: 0,
            created_at: now,
            updated_at: now,
          }));
          await tx.insertInto("jobs").values(rows).execute();
        }
      });
    await add(0, MAX_COUNTED_JOBS, now + 60_000, "waiting");
    assert.deepEqual(await oldestDue(), [0], "none is due");
    await add(MAX_COUNTED_JOBS, 1, now - 7000, "waiting");
    await add(MAX_COUNTED_JOBS + 1, 1, now - 9000, "dead");
    assert.deepEqual(await oldestDue(), [7]);
  });
}
