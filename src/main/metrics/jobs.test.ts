import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it, type TestContext } from "node:test";
import { Registry } from "prom-client";
import { engines, freshDatabaseUrl } from "../../../test/support/server.ts";
import { addEndpoints, queueDeliveries } from "../../../test/support/webhook-queue.ts";
import type { EventReceiver } from "../../capabilities/webhooks/events.ts";
import { listFailingEndpoints } from "../../capabilities/webhooks/failing.ts";
import { listLanes } from "../../engine/jobs/lanes.ts";
import { MAX_COUNTED_JOBS } from "../../kernel/limits.ts";
import { type Database, openDatabase } from "../../storage/database.ts";
import { checkWebhooks } from "../doctor/webhooks.ts";
import { measureJobs } from "./jobs.ts";

async function openFresh(test: TestContext, engine: (typeof engines)[number]): Promise<Database> {
  const folder = mkdtempSync(join(tmpdir(), "keystead-jobs-"));
  test.after(() => rmSync(folder, { recursive: true, force: true }));
  const database = openDatabase({ url: await freshDatabaseUrl(engine, folder) });
  test.after(() => database.close());
  await database.migrate();
  return database;
}

for (const engine of engines) {
  it(`the job that has been due for longest is found behind any number of others (${engine})`, async (test) => {
    const database = await openFresh(test, engine);
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

  it(`lanes are told by kind, and by name to an operator (${engine})`, async (test) => {
    const database = await openFresh(test, engine);
    const registry = new Registry();
    const now = 1_800_000_000_000;
    measureJobs(registry, database.read, () => now);
    const byKind = async (name: string) => {
      const { values = [] } = (await registry.getSingleMetric(`keystead_${name}`)?.get()) ?? {};
      return Object.fromEntries(values.map(({ labels, value }) => [labels.kind, value]));
    };
    assert.deepEqual(await byKind("job_lanes"), {}, "none waits");
    let jobs = 0;
    const add = (kind: string, lane: string, runAts: number[], state: "waiting" | "dead" = "waiting") =>
      database.transact("jobs", async (tx) => {
        const job = { kind, lane, payload: "{}", state, organization_id: `of ${lane}`, attempts: 0 };
        const rows = runAts.map((run_at) => ({ ...job, id: String(jobs++), run_at, created_at: now, updated_at: now }));
        await tx.insertInto("jobs").values(rows).execute();
        await tx
          .insertInto("job_lanes")
          .values({ lane, gate: `gate of ${lane}`, leased_until: lane === "b" ? now + 5000 : 0, owner: "" })
          .execute();
      });
    await add("mail", "a", [now - 1000]);
    await add("mail", "b", [now - 3000, now - 2000, now + 60_000]);
    await add("mail", "c", [now - 9000], "dead");
    await add("hook", "d", [now + 60_000]);
    assert.deepEqual(await byKind("job_lanes"), { mail: 2, hook: 1 });
    assert.deepEqual(await byKind("job_lane_depth"), { mail: 3, hook: 1 });
    assert.deepEqual(await byKind("job_due_seconds"), { mail: 3, hook: 0 });
    const time = (ms: number) => new Date(ms).toISOString();
    const shown = await listLanes(database.read, 2, now);
    assert.deepEqual(shown, [
      {
        lane: "b",
        gate: "gate of b",
        organizationId: "of b",
        waiting: 3,
        due: 2,
        firstDue: time(now - 3000),
        leasedUntil: time(now + 5000),
      },
      {
        lane: "a",
        gate: "gate of a",
        organizationId: "of a",
        waiting: 1,
        due: 1,
        firstDue: time(now - 1000),
        leasedUntil: null,
      },
    ]);
  });

  it(`endpoints that take nothing are told by number, and by name to an operator (${engine})`, async (test) => {
    const database = await openFresh(test, engine);
    const registry = new Registry();
    const now = 1_800_000_000_000;
    measureJobs(registry, database.read, () => now);
    const figure = async (name: string) =>
      (await registry.getSingleMetric(`keystead_webhook_${name}`)?.get())?.values.map(({ value }) => value);
    const [well, failing, long, off] = (await addEndpoints(
      database,
      ["well", "failing", "long", "off"].map((name) => `https://${name}.example/secret?token=t`),
    )) as [EventReceiver, EventReceiver, EventReceiver, EventReceiver];
    assert.deepEqual([await figure("endpoints_failing"), await figure("endpoint_failing_seconds")], [[0], [0]]);
    assert.deepEqual(await checkWebhooks({ all: (sql) => database.read.all({ sql, parameters: [] }) }), {
      check: "webhooks",
      state: "ok",
      text: "no endpoint is failing",
    });
    await queueDeliveries(database, [well, failing, long, off], { count: 8, body: "{}", dueAt: now });
    const failed = (to: EventReceiver, since: number, isActive: 0 | 1) =>
      database.transact(to.organizationId, (tx) =>
        tx
          .updateTable("webhook_endpoints")
          .set({ failing_since: since, is_active: isActive })
          .where("organization_id", "=", to.organizationId)
          .where("id", "=", to.endpointId)
          .execute(),
      );
    await failed(failing, now - 60_000, 1);
    await failed(long, now - 90_000, 1);
    await failed(off, now - 900_000, 0);
    await database.transact(long.organizationId, async (tx) => {
      const deliveries = await tx
        .updateTable("webhook_deliveries")
        .set({ attempts: 1 })
        .where("endpoint_id", "=", long.endpointId)
        .returning("id")
        .execute();
      const attempts = deliveries.map(({ id }, index) => ({
        organization_id: long.organizationId,
        delivery_id: id,
        number: 1,
        started_at: now - 5000 + index,
        duration_ms: 3,
        status_code: 502 + index,
        error: null,
      }));
      await tx.insertInto("webhook_attempts").values(attempts).execute();
    });
    assert.deepEqual([await figure("endpoints_failing"), await figure("endpoint_failing_seconds")], [[2], [90]]);
    const time = (ms: number) => new Date(ms).toISOString();
    const [first, second, ...others] = await listFailingEndpoints(database.read, 10);
    assert.deepEqual(first, {
      endpointId: long.endpointId,
      organizationId: long.organizationId,
      host: "long.example",
      failingSince: time(now - 90_000),
      waiting: 2,
      lastAttempt: { at: time(now - 4999), statusCode: 503, error: null },
    });
    assert.deepEqual([second?.endpointId, second?.lastAttempt, others], [failing.endpointId, null, []]);
    assert.equal((await listFailingEndpoints(database.read, 1)).length, 1);
    const found = await checkWebhooks({ all: (sql) => database.read.all({ sql, parameters: [] }) });
    assert.equal(found.state, "warn");
    assert.match(found.text, /^2 endpoints are failing, the first since 2027-01-15T07:58:30\.000Z; `keystead webhooks/);
  });
}
