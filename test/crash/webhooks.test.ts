import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { openDatabase } from "../../src/storage/database.ts";
import type { Client } from "../support/client.ts";
import { startCrashReceiver } from "../support/crash-receiver.ts";
import { areLong } from "../support/long-tests.ts";
import { reservePort } from "../support/ports.ts";
import { MIGRATED_DATABASE } from "../support/postgres.ts";
import { engines, freshDatabaseUrl } from "../support/server.ts";
import { type ServerProcess, startServerProcess, temporaryFolder } from "../support/server-process.ts";
import { until } from "../support/until.ts";
import { RENAMES } from "../support/webhooks.ts";

const ACTIVITIES = areLong ? 5000 : 800;
const CONCURRENCY = 16;
/** Shares of the burst after which the server is killed, and the receiver is killed and comes back. */
const SERVER_KILLS = [0.15, 0.3, 0.45, 0.7, 0.9];
const RECEIVER_KILL = 0.5;
const RECEIVER_RETURN = 0.55;
const HANGS_AFTER_MS = 1_800_000;
const TYPE = "ACTIVITY_TYPE_UPDATE_ORGANIZATION_NAME";

const settings = {
  KEYSTEAD_ALLOW_PRIVATE_NETWORKS: "true",
  KEYSTEAD_JOB_LEASE_SECONDS: "2",
  KEYSTEAD_WEBHOOK_RETRY_SECONDS: "0,0.2,0.5,1,1,1,2,2,2,5,5,5,5",
  KEYSTEAD_WEBHOOK_TIMEOUT_SECONDS: "5",
  KEYSTEAD_LOG_LEVEL: "error",
};

for (const engine of engines) {
  describe(`webhooks when everything is killed (${engine})`, () => {
    it("arrive for every committed activity and for no other", async (t) => {
      const dataDir = temporaryFolder();
      const databaseUrl = await freshDatabaseUrl(engine, dataDir, MIGRATED_DATABASE);
      const receiver = await startCrashReceiver();
      // The server's own also while it is not there.
      const port = String(await reservePort());
      const start = () => startServerProcess({ dataDir, databaseUrl, settings: { ...settings, KEYSTEAD_PORT: port } });
      let server: ServerProcess = await start();
      const { root } = server;
      await root.result("create_webhook_endpoint", { url: receiver.url, name: "hook", subscriptions: RENAMES });

      const steps = [
        ...SERVER_KILLS.map((share) => ({
          share,
          what: async () => {
            await server.end("SIGKILL");
            server = await start();
          },
        })),
        { share: RECEIVER_KILL, what: receiver.kill },
        { share: RECEIVER_RETURN, what: receiver.restart },
      ].sort((a, b) => a.share - b.share);
      const burst = sendAll(root, ACTIVITIES);
      for (const { share, what } of steps) {
        await until(() => burst.answered >= share * ACTIVITIES, `${share} of the burst to be answered`, HANGS_AFTER_MS);
        await what();
      }
      const answered = await burst.done;

      const database = openDatabase({ url: databaseUrl });
      const committed = await database.read.selectFrom("activities").select("id").where("type", "=", TYPE).execute();
      const ids = new Set(committed.map(({ id }) => id));
      assert.deepEqual(missingIn(ids, answered), [], "what was answered was committed");
      const arrived = () => new Set(receiver.lines().map(([, activityId]) => activityId as string));
      await until(() => missingIn(arrived(), ids).length === 0, "every event to arrive", HANGS_AFTER_MS);

      assert.deepEqual(missingIn(ids, arrived()), [], "nothing arrived of what was not committed");
      const lines = receiver.lines();
      const eventIds = Map.groupBy(lines, ([, activityId]) => activityId);
      for (const [activityId, requests] of eventIds) {
        assert.equal(new Set(requests.map(([eventId]) => eventId)).size, 1, `one event id for ${activityId}`);
        assert.ok(requests.every(([, , status]) => status === "ACTIVITY_STATUS_COMPLETED"));
      }
      assert.equal(new Set(lines.map(([eventId]) => eventId)).size, ids.size);
      const pending = () =>
        database.read.selectFrom("webhook_deliveries").select("id").where("status", "!=", "DELIVERED").execute();
      await until(async () => (await pending()).length === 0, "every delivery to be known as made");
      await database.close();
      await server.end("SIGTERM");
      t.diagnostic(`${ids.size} committed, ${lines.length} requests arrived, ${lines.length - ids.size} of them again`);
    });
  });
}

const missingIn = (set: Set<string>, wanted: Set<string>): string[] => [...wanted].filter((one) => !set.has(one));

/** Sends activities side by side, each again and again until it is answered: the same body is the same activity. */
function sendAll(root: Client, count: number): { readonly answered: number; done: Promise<Set<string>> } {
  const ids = new Set<string>();
  let next = 0;
  let answered = 0;
  const sendOne = async () => {
    const path = "update_organization_name";
    const body = root.submitBody(path, { organizationName: `Burst ${next++}` });
    for (;;) {
      const answer = await root.post(`/public/v1/submit/${path}`, body).catch(() => undefined);
      if (answer?.status === 200) {
        ids.add(answer.body.activity.id);
        answered++;
        return;
      }
      assert.ok(answer === undefined || answer.status === 503, JSON.stringify(answer?.body));
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  };
  const worker = async () => {
    while (next < count) await sendOne();
  };
  const done = Promise.all(Array.from({ length: CONCURRENCY }, worker)).then(() => ids);
  return {
    get answered() {
      return answered;
    },
    done,
  };
}
