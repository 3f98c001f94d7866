import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { deliverWebhook } from "../../src/capabilities/webhooks/deliver.ts";
import { pruneWebhookEvents } from "../../src/capabilities/webhooks/prune.ts";
import { listJobs, retryDeadJobs } from "../../src/engine/jobs/admin.ts";
import { DAY_MS, HOUR_MS } from "../../src/kernel/durations.ts";
import { newId } from "../../src/kernel/ids.ts";
import { createLogger } from "../../src/kernel/log.ts";
import type { Json } from "../support/client.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";
import { engines, startTestServer, type TestServer } from "../support/server.ts";
import { until } from "../support/until.ts";
import { addSubOrganization, RENAMES, standingClock, webhooksOf } from "../support/webhooks.ts";

const settings = {
  KEYSTEAD_ALLOW_PRIVATE_NETWORKS: "true",
  KEYSTEAD_WEBHOOK_RETRY_SECONDS: "0,60",
  // Longer than a receiver here takes on any machine: what was sent twice would be counted.
  KEYSTEAD_WEBHOOK_TIMEOUT_SECONDS: "50",
};
const ALL = [{ eventType: "ACTIVITY_UPDATES" }];
const isOver = ({ status }: Json) => status !== "PENDING";
const eventIdOf = ({ headers }: Json): string => headers["x-turnkey-event-id"];

for (const engine of engines) {
  describe(`the life of webhooks (${engine})`, () => {
    const clock = standingClock();
    let server: TestServer;
    let hooks: ReturnType<typeof webhooksOf>;
    const receivers: Receiver[] = [];
    before(async () => {
      server = await startTestServer(engine, { settings, clock: clock.now });
      hooks = webhooksOf(server.root, clock.now);
    });
    after(async () => {
      await server.close();
      for (const receiver of receivers) await receiver.close();
    });
    const receiverThat = async (status: number): Promise<Receiver> => {
      const receiver = await startReceiver();
      receiver.answer(status);
      receivers.push(receiver);
      return receiver;
    };
    const jobsOf = (endpointId: string) =>
      server.opened.database.read.selectFrom("jobs").selectAll().where("lane", "=", `webhook:${endpointId}`).execute();

    it("switch an endpoint off after five days of failure, tell the others, and begin anew when switched on", async () => {
      const failing = await receiverThat(400);
      const watching = await receiverThat(200);
      const stranger = await receiverThat(200);
      const updates = [{ eventType: "WEBHOOK_ENDPOINT_UPDATES" }];
      const endpointId = await hooks.create(failing.url, RENAMES, "failing one");
      await hooks.create(watching.url, updates);
      const sub = webhooksOf(await addSubOrganization(server), clock.now);
      await sub.create(stranger.url, updates);
      const isActive = async () => (await hooks.endpoint(endpointId)).isActive;
      const failOnce = async () => {
        const count = (await hooks.list(endpointId)).length;
        await hooks.rename();
        await until(async () => {
          const deliveries = await hooks.list(endpointId);
          return deliveries.length === count + 1 && deliveries.every(isOver);
        });
      };

      await failOnce();
      clock.pass(5 * DAY_MS - 1);
      await failOnce();
      assert.equal(await isActive(), true, "not a millisecond early");
      clock.pass(1);
      await failOnce();
      assert.equal(await isActive(), false);
      assert.match(server.log(), /"level":"warn".*a webhook endpoint failed for too long and was disabled/);
      const [told] = await watching.waitFor(1);
      assert.equal(told?.headers["x-turnkey-event-type"], "WEBHOOK_ENDPOINT_UPDATES");
      const { organizationId } = server.root;
      const timestamp = Math.floor(clock.now() / 1000);
      assert.deepEqual(JSON.parse(told?.body as string), {
        type: "webhooks:endpoint_disabled",
        organizationId,
        msg: { endpointId, url: failing.url, name: "failing one", isActive: false, timestamp },
      });
      const count = failing.received.length;
      await hooks.rename();
      assert.equal((await hooks.list(endpointId)).length, 3, "nothing is queued for it");

      await hooks.result("update_webhook_endpoint", { endpointId, isActive: true });
      await failOnce();
      assert.equal(failing.received.length, count + 1);
      assert.equal(await isActive(), true, "its five days begin anew");
      clock.pass(3 * DAY_MS);
      failing.answer(200);
      await failOnce();
      failing.answer(400);
      clock.pass(3 * DAY_MS);
      await failOnce();
      assert.equal(await isActive(), true, "a success begins them anew too");
      assert.equal(watching.received.length, 1);
      assert.equal(stranger.received.length, 0);
      await hooks.result("delete_webhook_endpoint", { endpointId });
    });

    it("of a parent hear its sub-organizations, and those of a sub-organization only their own", async () => {
      const four = await Promise.all([1, 2, 3, 4].map(() => receiverThat(200)));
      const [parents, own, filtered, others] = four as [Receiver, Receiver, Receiver, Receiver];
      const client = await addSubOrganization(server);
      const sub = webhooksOf(client, clock.now);
      const other = webhooksOf(await addSubOrganization(server), clock.now);
      await sub.create(own.url);
      await other.create(others.url);
      await hooks.create(parents.url);
      const { organizationId } = client;
      const onlySub = [{ eventType: "ACTIVITY_UPDATES", filtersJson: JSON.stringify({ organizationId }) }];
      await hooks.create(filtered.url, onlySub);

      await sub.rename("Of the sub-organization");
      await hooks.rename("Of the parent");
      const atParent = (await parents.waitFor(2)) as Json[];
      const [atSub] = (await own.waitFor(1)) as Json[];
      const [atFiltered] = (await filtered.waitFor(1)) as Json[];
      const organizations = (requests: Json[]) => requests.map(({ body }) => JSON.parse(body).organizationId);
      assert.deepEqual(organizations(atParent), [organizationId, server.root.organizationId]);
      assert.deepEqual(organizations([atSub, atFiltered]), [organizationId, organizationId]);
      assert.equal(new Set([atParent[0], atSub, atFiltered].map(eventIdOf)).size, 1, "one event, one id");
      assert.equal(atParent[0].headers["x-turnkey-organization-id"], server.root.organizationId);
      assert.equal(atSub.headers["x-turnkey-organization-id"], organizationId);
      await hooks.rename();
      await parents.waitFor(3);
      assert.deepEqual(
        [own, filtered, others].map((receiver) => receiver.received.length),
        [1, 1, 0],
      );

      for (const eventType of [
        "BALANCE_CONFIRMED_UPDATES",
        "BALANCE_FINALIZED_UPDATES",
        "SEND_TRANSACTION_STATUS_UPDATES",
      ]) {
        const parameters = { url: "http://127.0.0.1:1/", name: "billing", subscriptions: [...ALL, { eventType }] };
        assert.equal((await sub.submit("create_webhook_endpoint", parameters)).status, 403, eventType);
        const { endpointId } = await hooks.result("create_webhook_endpoint", {
          ...parameters,
          subscriptions: [{ eventType }],
        });
        await hooks.result("delete_webhook_endpoint", { endpointId });
      }
      assert.equal((await client.read("list_webhook_endpoints")).webhookEndpoints.length, 1);
      for (const { endpointId } of (await server.root.read("list_webhook_endpoints")).webhookEndpoints) {
        assert.equal((await sub.submit("delete_webhook_endpoint", { endpointId })).status, 404);
        await hooks.result("delete_webhook_endpoint", { endpointId });
      }
    });

    it("are sent once however many subscriptions match, and not for one that is switched off", async () => {
      const [several, off] = [await receiverThat(200), await receiverThat(200)];
      const same = { eventType: "ACTIVITY_UPDATES", filtersJson: '{"status":"ACTIVITY_STATUS_COMPLETED"}' };
      const ids = [
        await hooks.create(several.url, [...RENAMES, ...RENAMES, { ...same, isActive: false }, ...RENAMES]),
        await hooks.create(off.url, [{ ...RENAMES[0], isActive: false }]),
      ];
      await hooks.rename("Once");
      await hooks.rename("Twice");
      const names = (await several.waitFor(2))
        .map(({ body }) => JSON.parse(body))
        .map(({ result }) => result.updateOrganizationNameResult.organizationName);
      assert.deepEqual(names, ["Once", "Twice"]);
      assert.deepEqual(await hooks.list(ids[1] as string), []);
      for (const endpointId of ids) await hooks.result("delete_webhook_endpoint", { endpointId });
    });

    it("that are queued are not sent when their subscription is switched off", async () => {
      const receiver = await receiverThat(503);
      const endpointId = await hooks.create(receiver.url);
      await hooks.rename();
      await hooks.newest(endpointId, ({ attempts }) => attempts.length === 1);
      await server.opened.database.transact(server.root.organizationId, async (tx) => {
        await tx
          .updateTable("webhook_subscriptions")
          .set({ is_active: 0 })
          .where("endpoint_id", "=", endpointId)
          .execute();
      });
      clock.pass(60_000);
      const { status, attempts } = await hooks.newest(endpointId, isOver);
      assert.deepEqual([status, attempts.length], ["CANCELLED", 1]);
      await hooks.result("delete_webhook_endpoint", { endpointId });
    });

    it("go away a month later, unless they are still to be sent", async () => {
      const receiver = await receiverThat(200);
      const endpointId = await hooks.create(receiver.url);
      await hooks.rename("Delivered");
      await hooks.newest(endpointId, isOver);
      receiver.answer(503);
      await hooks.rename("Given up");
      await hooks.newest(endpointId, ({ attempts }) => attempts.length === 1);
      clock.pass(60_000);
      await hooks.newest(endpointId, ({ status }) => status === "FAILED");
      await hooks.rename("Pending");
      await hooks.newest(endpointId, ({ attempts }) => attempts.length === 1);
      assert.deepEqual((await jobsOf(endpointId)).map(({ state }) => state).toSorted(), ["dead", "waiting"]);
      const statuses = async () => (await hooks.list(endpointId)).map(({ status }) => status);
      assert.deepEqual(await statuses(), ["PENDING", "FAILED", "DELIVERED"]);

      const { database } = server.opened;
      const pruneAfter = (days: number, keptDays = 30) => {
        const retention = { webhookEventsMs: keptDays * DAY_MS };
        return pruneWebhookEvents.run({ database, retention, clock: () => clock.now() + days * DAY_MS } as never);
      };
      await pruneAfter(29);
      assert.deepEqual(await statuses(), ["PENDING", "FAILED", "DELIVERED"]);
      await pruneAfter(31, 32);
      assert.deepEqual(await statuses(), ["PENDING", "FAILED", "DELIVERED"]);
      await pruneAfter(31);
      assert.deepEqual(await statuses(), ["PENDING"]);
      assert.deepEqual(
        (await jobsOf(endpointId)).map(({ state }) => state),
        ["waiting"],
      );
      const rest = await database.read
        .selectFrom("webhook_attempts as a")
        .leftJoin("webhook_deliveries as d", "d.id", "a.delivery_id")
        .select("a.delivery_id")
        .where("d.id", "is", null)
        .execute();
      assert.deepEqual(rest, []);
      receiver.answer(200);
      clock.pass(60_000);
      assert.equal((await hooks.newest(endpointId, isOver)).status, "DELIVERED");
      await hooks.result("delete_webhook_endpoint", { endpointId });
    });

    it("are pruned by the server itself, in hours of its clock", async () => {
      const receiver = await receiverThat(200);
      const endpointId = await hooks.create(receiver.url);
      await hooks.rename();
      await hooks.newest(endpointId, isOver);
      clock.pass(31 * DAY_MS);
      await until(async () => (await hooks.list(endpointId)).length === 0, "the deliveries to be pruned");
      clock.pass(HOUR_MS);
      await hooks.result("delete_webhook_endpoint", { endpointId });
    });

    it("are sent again on demand, whatever became of them", async () => {
      const receiver = await receiverThat(200);
      const endpointId = await hooks.create(receiver.url);
      const redeliver = (deliveryId: string) => hooks.submit("redeliver_webhook", { deliveryId });
      await hooks.rename();
      const delivered = await hooks.newest(endpointId, isOver);
      assert.equal((await redeliver(delivered.deliveryId)).status, 200);
      const twice = await receiver.waitFor(2);
      assert.equal(new Set(twice.map(eventIdOf)).size, 1);
      await hooks.newest(endpointId, ({ attempts }) => attempts.length === 2);

      receiver.answer(410);
      await hooks.rename();
      const failed = await hooks.newest(endpointId, ({ status }) => status === "FAILED");
      receiver.answer(503);
      assert.equal((await redeliver(failed.deliveryId)).status, 200);
      const pending = await hooks.newest(endpointId, ({ attempts }) => attempts.length === 2);
      assert.equal(pending.status, "PENDING", "the schedule begins anew");
      assert.equal(Number(pending.nextAttemptAt.seconds), Math.floor((clock.now() + 60_000) / 1000));

      receiver.answer(200);
      clock.pass(1);
      assert.equal((await redeliver(pending.deliveryId)).status, 200);
      const early = await hooks.newest(endpointId, ({ attempts }) => attempts.length === 3);
      assert.equal(early.status, "DELIVERED", "without waiting for its time");
      assert.deepEqual(
        early.attempts.map(({ statusCode }: Json) => statusCode),
        [410, 503, 200],
      );
      clock.pass(60_000);
      await until(async () => (await jobsOf(endpointId)).length === 0);

      await hooks.result("update_webhook_endpoint", { endpointId, isActive: false });
      const refused = await redeliver(delivered.deliveryId);
      assert.equal(refused.status, 400);
      assert.match(refused.body.message, /disabled/);
      assert.equal((await hooks.list(endpointId)).length, 2);
      await hooks.result("delete_webhook_endpoint", { endpointId });
    });

    it("that were given up are sent when an operator brings back their jobs", async () => {
      const receiver = await receiverThat(503);
      const endpointId = await hooks.create(receiver.url);
      await hooks.rename();
      await hooks.newest(endpointId, ({ attempts }) => attempts.length === 1);
      clock.pass(60_000);
      const { deliveryId } = await hooks.newest(endpointId, ({ status }) => status === "FAILED");
      const { database } = server.opened;
      const dead = (await listJobs(database.read, "dead", 1000)).find(
        ({ payload }) => (payload as Json).deliveryId === deliveryId,
      );
      assert.equal(dead?.lastError, "status 503");
      receiver.answer(200);
      await retryDeadJobs(database, [dead?.id as string], clock.now());
      await hooks.newest(endpointId, ({ status }) => status === "DELIVERED");
      assert.deepEqual(await jobsOf(endpointId), []);
      await hooks.result("delete_webhook_endpoint", { endpointId });
    });

    it("are listed in pages, newest first", async () => {
      const receiver = await receiverThat(200);
      const endpointId = await hooks.create(receiver.url);
      for (let index = 0; index < 25; index++) await hooks.rename(`Page ${index}`);
      const all = (await hooks.list(endpointId)).map(({ deliveryId }) => deliveryId);
      assert.equal(all.length, 25);
      assert.deepEqual(all, all.toSorted().reverse());
      const page = async (paginationOptions: object): Promise<string[]> => {
        const { deliveries } = await server.root.read("list_webhook_deliveries", { endpointId, paginationOptions });
        return deliveries.map(({ deliveryId }: Json) => deliveryId);
      };
      assert.deepEqual(await page({}), all.slice(0, 10));
      const walked: string[] = [];
      for (let before = ""; ; ) {
        const ids = await page({ limit: "7", before });
        if (ids.length === 0) break;
        walked.push(...ids);
        before = ids.at(-1) as string;
      }
      assert.deepEqual(walked, all);
      assert.deepEqual(await page({ limit: "5", after: all[10] }), all.slice(5, 10));
      assert.deepEqual(await page({ limit: "5", after: all[0] }), []);
      const both = { endpointId, paginationOptions: { before: all[0], after: all[1] } };
      assert.equal((await server.root.query("list_webhook_deliveries", both)).status, 400);
      const sub = await addSubOrganization(server);
      assert.equal((await sub.query("list_webhook_deliveries", { endpointId })).status, 404);
      await hooks.result("delete_webhook_endpoint", { endpointId });
    });

    it("use up no attempt while the server itself is in trouble", async () => {
      const receiver = await receiverThat(503);
      const endpointId = await hooks.create(receiver.url);
      await hooks.rename();
      const { deliveryId } = await hooks.newest(endpointId, ({ attempts }) => attempts.length === 1);
      const { database } = server.opened;
      const signer = {
        state: "failed",
        ask: async () => {
          throw new Error("the signer is away");
        },
      };
      const webhookSchedule = { retryDelaysMs: [0, 1000], timeoutMs: 1000 };
      const services = { database, signer, clock: clock.now, log: createLogger("silent"), webhookSchedule };
      const payload = { organizationId: server.root.organizationId, deliveryId };
      const { next } = await deliverWebhook.run({ ...services, payload, attempts: 0 } as never);
      assert.deepEqual(next, { do: "pause", inMs: 5000 });
      assert.equal(receiver.received.length, 1);
      await hooks.result("delete_webhook_endpoint", { endpointId });
    });

    it("take their queue along when they are deleted, and their gate when they move", async () => {
      const receiver = await receiverThat(503);
      const endpointId = await hooks.create(receiver.url);
      for (let index = 0; index < 3; index++) await hooks.rename();
      await hooks.newest(endpointId, ({ attempts }) => attempts.length === 1);
      assert.equal((await jobsOf(endpointId)).length, 3);
      const gate = async () =>
        (
          await server.opened.database.read
            .selectFrom("job_lanes")
            .select("gate")
            .where("lane", "=", `webhook:${endpointId}`)
            .executeTakeFirst()
        )?.gate;
      assert.match(String(await gate()), /^127\.0\.0\.1 webhooks:/);
      await hooks.result("update_webhook_endpoint", { endpointId, url: "http://127.0.0.9:99/moved" });
      assert.match(String(await gate()), /^127\.0\.0\.9 webhooks:/);
      await hooks.result("delete_webhook_endpoint", { endpointId });
      assert.deepEqual(await jobsOf(endpointId), []);
    });

    it("come and go beside a storm of signatures that they are told of", async () => {
      const receiver = await receiverThat(200);
      const { root } = server;
      const at = (more: number) => ({ timestampMs: String(clock.now() - 60_000 + more) });
      const key = {
        privateKeyName: `storm ${newId()}`,
        curve: "CURVE_ED25519",
        privateKeyTags: [],
        addressFormats: [],
      };
      const created = await root.result("create_private_keys", { privateKeys: [key] }, at(0));
      const [{ privateKeyId: signWith }] = created.privateKeys;
      let storming = true;
      let signed = 0;
      const parameters = {
        signWith,
        encoding: "PAYLOAD_ENCODING_TEXT_UTF8",
        hashFunction: "HASH_FUNCTION_NOT_APPLICABLE",
      };
      const storm = Array.from({ length: 6 }, async () => {
        while (storming) {
          const payload = `storm ${++signed}`;
          const { status, body } = await root.submit("sign_raw_payload", { ...parameters, payload }, at(signed));
          assert.equal(status, 200, JSON.stringify(body));
        }
      });
      try {
        for (let round = 0; round < 25; round++) {
          const endpointId = await hooks.create(receiver.url, ALL);
          await until(async () => (await hooks.list(endpointId, 1)).length > 0, "a signature to be told of");
          await hooks.result("delete_webhook_endpoint", { endpointId });
        }
      } finally {
        storming = false;
        await Promise.all(storm);
      }
      assert.ok(signed > 25);
    });
  });
}
