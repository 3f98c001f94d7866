import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { openDatabase } from "../../src/storage/database.ts";
import { type CrashReceiver, startCrashReceiver } from "../support/crash-receiver.ts";
import { areLong } from "../support/long-tests.ts";
import { MIGRATED_DATABASE } from "../support/postgres.ts";
import { engines, freshDatabaseUrl } from "../support/server.ts";
import { type Exit, type ServerProcess, startServerProcess, temporaryFolder } from "../support/server-process.ts";
import { until } from "../support/until.ts";
import { addEndpoints, countPending, queueDeliveries } from "../support/webhook-queue.ts";

const DELIVERIES = areLong ? 100_000 : 1000;
const HANGS_AFTER_MS = 1_800_000;
const ENDPOINTS = 10;
/** An event id and a line feed. */
const LINE_BYTES = 37;
/** What V8 ends a process for that holds more. The bodies of the long queue do not fit in it together. */
const HEAP_MIB = 128;

const settings = {
  KEYSTEAD_ALLOW_PRIVATE_NETWORKS: "true",
  KEYSTEAD_LOG_LEVEL: "warn",
  NODE_OPTIONS: `--max-old-space-size=${HEAP_MIB}`,
};

for (const engine of engines) {
  describe(`a long queue of webhooks (${engine})`, () => {
    it("drains after restarts, with none lost or skipped, in a bounded heap", async (t) => {
      const dataDir = temporaryFolder();
      const databaseUrl = await freshDatabaseUrl(engine, dataDir, MIGRATED_DATABASE);
      const start = () => startServerProcess({ dataDir, databaseUrl, settings });
      await (await start()).end("SIGTERM");

      const database = openDatabase({ url: databaseUrl });
      const receiver = await startCrashReceiver();
      const receivers = await addEndpoints(database, Array<string>(ENDPOINTS).fill(receiver.url));
      const body = JSON.stringify({ filler: "x".repeat(1500) });
      await queueDeliveries(database, receivers, { count: DELIVERIES, body, dueAt: Date.now() });

      const began = performance.now();
      let server = await start();
      await arrival(server, receiver, DELIVERIES / 10);
      await server.end("SIGKILL");
      server = await start();
      await arrival(server, receiver, DELIVERIES);
      await until(async () => (await countPending(database)) === 0, "the queue to be empty");
      const seconds = (performance.now() - began) / 1000;

      const requests = receiver.lines().map(([eventId]) => eventId as string);
      const arrived = new Set(requests);
      const events = await database.read.selectFrom("webhook_events").select("id").execute();
      assert.equal(events.length, DELIVERIES);
      assert.ok(
        events.every(({ id }) => arrived.has(id)),
        "none lost",
      );
      assert.equal(arrived.size, DELIVERIES);
      const again = requests.length - DELIVERIES;
      assert.ok(again <= ENDPOINTS, `${again} were sent again after the kill: one for each lane at most`);
      const jobs = await database.read.selectFrom("jobs").select("id").where("kind", "=", "deliver_webhook").execute();
      assert.deepEqual(jobs, []);
      await database.close();
      assert.equal((await server.end("SIGTERM")).code, 0);
      const rate = (DELIVERIES / seconds).toFixed(0);
      t.diagnostic(`${DELIVERIES} in ${seconds.toFixed(1)} s with one kill (${rate}/s), ${again} sent again`);
    });
  });
}

/** Waits for so many requests at the receiver; fails when the server has ended. */
async function arrival(server: ServerProcess, receiver: CrashReceiver, count: number): Promise<void> {
  let ended: Exit | undefined;
  void server.exited.then((exit) => {
    ended = exit;
  });
  const hasArrived = () => {
    assert.ok(ended === undefined, `the server ended: ${JSON.stringify(ended)} ${server.stderr()}`);
    return receiver.bytes() >= count * LINE_BYTES;
  };
  await until(hasArrived, `${count} to arrive`, HANGS_AFTER_MS);
}
