import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { newId } from "../../src/kernel/ids.ts";
import { openDatabase } from "../../src/storage/database.ts";
import { startCrashReceiver } from "../support/crash-receiver.ts";
import { createTestDatabase } from "../support/postgres.ts";
import { residentBytes } from "../support/resident-bytes.ts";
import { engines, testPostgresUrl } from "../support/server.ts";
import { startServerProcess, temporaryFolder } from "../support/server-process.ts";
import { until } from "../support/until.ts";
import { addEndpoints, countPending, queueDeliveries } from "../support/webhook-queue.ts";

const isLong = process.env.KEYSTEAD_LONG_TESTS === "1";
const DELIVERIES = isLong ? 100_000 : 5000;
const TIMEOUT_MS = isLong ? 1_800_000 : 230_000;
const ENDPOINTS = 10;
/** An event id and a line feed. */
const LINE_BYTES = 37;
/** How far the memory of the server may grow while it drains, whatever the length of the queue. */
// The long queue of 100,000 bodies is larger; what a collector leaves lying for a while is not.
const MAX_GROWTH_BYTES = 256 * 1024 * 1024;

const settings = { KEYSTEAD_ALLOW_PRIVATE_NETWORKS: "true", KEYSTEAD_LOG_LEVEL: "warn" };

for (const engine of engines) {
  describe(`a long queue of webhooks (${engine})`, () => {
    it("drains after restarts, with none lost or skipped, in flat memory", { timeout: TIMEOUT_MS }, async (t) => {
      const dataDir = temporaryFolder();
      const databaseUrl =
        engine === "sqlite"
          ? `sqlite:${dataDir}/keystead.db`
          : await createTestDatabase(testPostgresUrl(), `drain_${newId().replaceAll("-", "")}`);
      const start = () => startServerProcess({ dataDir, databaseUrl, settings });
      await (await start()).end("SIGTERM");

      const database = openDatabase({ url: databaseUrl });
      const receiver = await startCrashReceiver();
      const receivers = await addEndpoints(database, Array<string>(ENDPOINTS).fill(receiver.url));
      const body = JSON.stringify({ filler: "x".repeat(1500) });
      await queueDeliveries(database, receivers, { count: DELIVERIES, body, dueAt: Date.now() });

      const began = performance.now();
      let server = await start();
      await until(() => receiver.bytes() >= (DELIVERIES / 10) * LINE_BYTES, "a tenth to arrive", TIMEOUT_MS);
      await server.end("SIGKILL");
      server = await start();
      await until(() => receiver.bytes() >= (DELIVERIES / 5) * LINE_BYTES, "a fifth to arrive", TIMEOUT_MS);
      const early = residentBytes(server.pid);
      let most = early;
      await until(
        () => {
          most = Math.max(most, residentBytes(server.pid));
          return receiver.bytes() >= DELIVERIES * LINE_BYTES;
        },
        "all to arrive",
        TIMEOUT_MS,
      );
      await until(async () => (await countPending(database)) === 0, "the queue to be empty", 120_000);
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
      const growth = most - early;
      assert.ok(growth < MAX_GROWTH_BYTES, `memory grew by ${growth} bytes`);
      await database.close();
      assert.equal((await server.end("SIGTERM")).code, 0);
      const mib = (bytes: number) => (bytes / 1024 / 1024).toFixed(0);
      t.diagnostic(
        `${DELIVERIES} in ${seconds.toFixed(1)} s with one kill (${(DELIVERIES / seconds).toFixed(0)}/s), ` +
          `memory ${mib(early)} MiB and at most ${mib(most)} MiB, ${again} sent again`,
      );
    });
  });
}
