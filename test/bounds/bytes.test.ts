import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { after, before, describe, it } from "node:test";
import { findActivity } from "../../src/engine/activities/rows.ts";
import { verifyStamps } from "../../src/engine/activities/verify-stamps.ts";
import { Admission } from "../../src/engine/admission.ts";
import { newId } from "../../src/kernel/ids.ts";
import {
  DENIALS_OF_ONE_ORGANIZATION,
  DENIALS_OF_ONE_USER,
  MAX_DENIED_BODY_BYTES,
  MAX_DENIED_MESSAGE_LENGTH,
  MAX_PAGE_BYTES,
  MAX_SHOWN_ATTEMPTS,
  MAX_VOTE_BODY_BYTES,
  MAX_VOTES,
} from "../../src/kernel/limits.ts";
import { addUser, type Client, type Json } from "../support/client.ts";
import { createTestDatabase } from "../support/postgres.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";
import { residentBytes } from "../support/resident-bytes.ts";
import { engines, onEachEngine, startTestServer, type TestServer, testPostgresUrl } from "../support/server.ts";
import { type ServerProcess, startServerProcess, temporaryFolder } from "../support/server-process.ts";
import { webhooksOf } from "../support/webhooks.ts";
import { createWorld } from "../support/world.ts";

/** What requests leave behind in the database, and what one answer may hold. */

/** Room for what is read at once, what is being sent, and what a collector leaves lying for a while; without a bound it takes more than twice as much. */
const MAX_GROWTH_BYTES = 400 * 1024 * 1024;

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

/** Renames the organization with a body of about this size: what is beside the parameters is stored with it. */
const renamed = (client: Client, name: string, bytes: number): string =>
  client.submitBody(
    "update_organization_name",
    { organizationName: name },
    { more: { filler: "é".repeat(bytes / 2) } },
  );

const RENAME = "/public/v1/submit/update_organization_name";

async function storedBytes({ opened }: TestServer, activityId: string): Promise<number> {
  const { read } = opened.database;
  const activities = await read.selectFrom("activities").selectAll().where("id", "=", activityId).execute();
  const votes = await read.selectFrom("votes").selectAll().where("activity_id", "=", activityId).execute();
  assert.equal(activities.length, 1);
  return bytesOf([...activities, ...votes]);
}

onEachEngine("what a body takes", (server) => {
  it("is stored once, with its votes, and shown whole in each place", async () => {
    const { root } = await createWorld(server());
    const second = await addUser(root.client);
    await root.client.result("update_root_quorum", { threshold: 2, userIds: [root.userId, second.userId] });
    const size = 200_000;
    const body = renamed(root.client, "Agreed", size);
    const waiting = await root.client.post(RENAME, body);
    assert.equal(waiting.body.activity.status, "ACTIVITY_STATUS_CONSENSUS_NEEDED");
    // The same bytes from another user are an approval.
    const { activity } = (await second.client.post(RENAME, body)).body;
    assert.equal(activity.status, "ACTIVITY_STATUS_COMPLETED");
    assert.deepEqual(activity.intent, { updateOrganizationNameIntent: { organizationName: "Agreed" } });
    assert.deepEqual(
      activity.votes.map(({ message }: Json) => message === body),
      [true, true],
    );
    assert.deepEqual((await root.client.read("get_activity", { activityId: activity.id })).activity, activity);
    const stored = await storedBytes(server(), activity.id);
    assert.ok(stored < 1.1 * Buffer.byteLength(body), `${stored} bytes for a body of ${Buffer.byteLength(body)}`);
  });

  it("in a vote is bounded, as many may vote", async () => {
    const { root } = await createWorld(server());
    const large = "x".repeat(MAX_VOTE_BODY_BYTES);
    const answer = await root.client.submit("approve_activity", { fingerprint: `sha256:${large}` });
    assert.equal(answer.status, 413);
    assert.match(answer.body.message, /larger than 4096 bytes/);
  });

  it("is approved by so many users, deleted ones among them, and rejected by one more", async () => {
    const { root } = await createWorld(server());
    const [second, third] = [await addUser(root.client), await addUser(root.client)];
    const userIds = [root.userId, second.userId, third.userId];
    await root.client.result("update_root_quorum", { threshold: 3, userIds });
    const submitted = await root.client.submit("update_organization_name", { organizationName: "Agreed" });
    const { fingerprint, id } = submitted.body.activity;
    const { database } = server().opened;
    const vote = await database.read.selectFrom("votes").selectAll().where("activity_id", "=", id).executeTakeFirst();
    assert.ok(vote);
    const others = Array.from({ length: MAX_VOTES - 2 }, () => ({ ...vote, id: newId(), user_id: newId() }));
    await database.transact(root.client.organizationId, async (tx) => {
      for (let at = 0; at < others.length; at += 100) {
        const values = others.slice(at, at + 100).map((one) => ({ ...one, revoked_at: one.created_at }));
        await tx.insertInto("votes").values(values).execute();
      }
    });
    assert.equal((await second.client.submit("approve_activity", { fingerprint })).status, 200);
    const refused = await third.client.submit("approve_activity", { fingerprint });
    assert.equal(refused.status, 400);
    assert.match(refused.body.message, /^1000 users, including deleted ones, have voted on activity/);
    assert.equal(
      (await second.client.submit("approve_activity", { fingerprint })).status,
      200,
      "who has voted may again",
    );
    const rejected = await third.client.submit("reject_activity", { fingerprint });
    assert.equal(rejected.body.activity.status, "ACTIVITY_STATUS_REJECTED");
  });

  it("is shown with each vote, so a large one is approved by its fingerprint once a few have sent it", async () => {
    const { root } = await createWorld(server());
    const [second, third] = [await addUser(root.client), await addUser(root.client)];
    const userIds = [root.userId, second.userId, third.userId];
    await root.client.result("update_root_quorum", { threshold: 3, userIds });
    const body = renamed(root.client, "Agreed", 3_900_000);
    const asked = (await root.client.post(RENAME, body)).body.activity;
    for (const { client } of [second, third]) assert.equal((await client.post(RENAME, body)).status, 200);
    const large = renamed(root.client, "Agreed", 3_900_000).replaceAll("é", "ab");
    const { fingerprint } = (await root.client.post(RENAME, large)).body.activity;
    assert.equal((await second.client.post(RENAME, large)).status, 200);
    const refused = await third.client.post(RENAME, large);
    assert.equal(refused.status, 413);
    assert.match(refused.body.message, /more than 8388608 characters; approve it by its fingerprint/);
    const { activity } = (await third.client.submit("approve_activity", { fingerprint })).body;
    assert.equal(activity.status, "ACTIVITY_STATUS_COMPLETED");
    for (const id of [asked.id, activity.id]) {
      const { read } = server().opened.database;
      const stored = await findActivity(read, root.client.organizationId, id);
      assert.ok(stored);
      const stamps = await verifyStamps(read, stored);
      assert.deepEqual(
        stamps.map(({ verdict }) => verdict),
        ["valid", "valid", "valid"],
        "each stamp verifies with the body that is stored once",
      );
    }
  });

  it("that was denied cannot be judged again by the part that is kept", async () => {
    const { root, user } = await createWorld(server());
    const wallet = await root.client.result("create_wallet", { walletName: "w", accounts: [account(0)] });
    const sent = user.client.submitBody("sign_raw_payload", {
      signWith: wallet.addresses[0],
      payload: "ab".repeat(60_000),
      encoding: "PAYLOAD_ENCODING_HEXADECIMAL",
      hashFunction: "HASH_FUNCTION_KECCAK256",
    });
    const path = "/public/v1/submit/sign_raw_payload";
    const denied = await user.client.post(path, sent);
    assert.equal(denied.status, 403, JSON.stringify(denied.body));
    const again = await user.client.post(path, sent);
    assert.deepEqual([again.status, again.body], [403, denied.body]);
    const filterByStatus = ["ACTIVITY_STATUS_REJECTED"];
    const { activities } = await root.client.read("list_activities", { filterByStatus });
    const { id: activityId, fingerprint } = activities[0];
    const late = await root.client.submit("approve_activity", { fingerprint });
    assert.equal(late.status, 400, JSON.stringify(late.body));
    assert.match(late.body.message, /REJECTED/);
    const { activity } = await root.client.read("get_activity", { activityId });
    assert.deepEqual(activity, activities[0]);
    const { read } = server().opened.database;
    const stored = await findActivity(read, root.client.organizationId, activityId);
    assert.ok(stored);
    const [stamp] = await verifyStamps(read, stored);
    assert.deepEqual(
      [stamp?.verdict, stamp?.reason],
      ["notVerifiable", "denied, and too large to be stored completely"],
    );
  });

  it("that was denied is bounded, whatever it holds, and its fingerprint is that of the whole", async () => {
    const { root, user } = await createWorld(server());
    const tags = Array.from({ length: 1000 }, (_, index) => `tag ${index} ${"x".repeat(200)}`);
    for (const [path, parameters, body] of [
      ["update_organization_name", { organizationName: "Taken" }, renamed(user.client, "Taken", 3_000_000)],
      ["create_user_tag", { userTagName: "é".repeat(255), userIds: [] }, undefined],
      [
        "create_wallet",
        { walletName: "w", accounts: Array.from({ length: 100 }, (_, index) => account(index)) },
        undefined,
      ],
    ] as const) {
      const sent = body ?? user.client.submitBody(path, parameters, { more: { filler: tags } });
      const answer = await user.client.post(`/public/v1/submit/${path}`, sent);
      assert.equal(answer.status, 403, JSON.stringify(answer.body));
      const type = `ACTIVITY_TYPE_${path.toUpperCase()}`;
      const { activities } = await root.client.read("list_activities", {
        filterByStatus: ["ACTIVITY_STATUS_REJECTED"],
        filterByType: [type],
      });
      const [activity] = activities;
      assert.equal(activity.fingerprint, `sha256:${createHash("sha256").update(sent).digest("hex")}`);
      assert.equal(activity.votes[0].message, sent.slice(0, MAX_DENIED_MESSAGE_LENGTH));
      const [intent] = Object.values<object>(activity.intent);
      assert.deepEqual(Object.keys(intent as object), Object.keys(parameters), "members stay");
      const stored = await storedBytes(server(), activity.id);
      assert.ok(stored < 2 * MAX_DENIED_BODY_BYTES, `${stored} bytes are kept`);
      const again = await user.client.post(`/public/v1/submit/${path}`, sent);
      assert.deepEqual([again.status, again.body], [403, answer.body], "and it is still the same denial");
      const rootsOwn = await root.client.post(`/public/v1/submit/${path}`, sent);
      assert.equal(rootsOwn.status, 403, "for everybody");
    }
  });

  it("that was denied and is small is kept whole", async () => {
    const { root, user } = await createWorld(server());
    const body = renamed(user.client, "Taken", 1000);
    assert.equal((await user.client.post(RENAME, body)).status, 403);
    const filterByStatus = ["ACTIVITY_STATUS_REJECTED"];
    const { activities } = await root.client.read("list_activities", { filterByStatus });
    assert.equal(activities[0].votes[0].message, body);
  });
});

const account = (index: number) => ({
  curve: "CURVE_SECP256K1",
  pathFormat: "PATH_FORMAT_BIP32",
  path: `m/44'/60'/0'/0/${index}`,
  addressFormat: "ADDRESS_FORMAT_ETHEREUM",
});

onEachEngine("a page of activities", (server) => {
  it("is bounded by bytes, says so, and is continued by its last id, either way", async () => {
    const { root } = await createWorld(server());
    const size = MAX_PAGE_BYTES / 5;
    for (let made = 0; made < 7; made++) {
      assert.equal((await root.client.post(RENAME, renamed(root.client, `Name ${made}`, size))).status, 200);
    }
    const all = await everything(root.client, "before");
    assert.ok(all.pages > 3, `${all.pages} pages`);
    assert.ok(all.largest < 1.5 * MAX_PAGE_BYTES, `a page of ${all.largest} bytes`);
    assert.deepEqual(all.ids, [...new Set(all.ids)].sort().reverse(), "each once, newest first");
    assert.ok(all.ids.length >= 8);
    const upwards = await everything(root.client, "after", all.ids.at(-1));
    assert.deepEqual(upwards.ids.toSorted(), all.ids.slice(0, -1).toSorted());
    assert.ok(upwards.largest < 1.5 * MAX_PAGE_BYTES, `a page of ${upwards.largest} bytes`);
  });

  it("has one that is larger than that alone", async () => {
    const { root } = await createWorld(server());
    for (const name of ["One", "Two"]) {
      assert.equal((await root.client.post(RENAME, renamed(root.client, name, 3_500_000))).status, 200);
    }
    const { activities, hasMore } = await root.client.read("list_activities", { paginationOptions: { limit: "100" } });
    assert.deepEqual([activities.length, hasMore], [1, true]);
  });
});

async function everything(
  client: Client,
  direction: "before" | "after",
  start?: string,
): Promise<{ ids: string[]; pages: number; largest: number }> {
  const seen = { ids: [] as string[], pages: 0, largest: 0 };
  for (let cursor = start; ; ) {
    const paginationOptions = { limit: "100", ...(cursor === undefined ? {} : { [direction]: cursor }) };
    const answer = await client.read("list_activities", { paginationOptions });
    const ids: string[] = answer.activities.map(({ id }: Json) => id);
    seen.ids.push(...ids);
    seen.pages++;
    seen.largest = Math.max(seen.largest, bytesOf(answer));
    if (answer.hasMore !== true) return seen;
    assert.ok(ids.length > 0);
    cursor = direction === "before" ? ids.at(-1) : ids[0];
  }
}

for (const engine of engines) {
  describe(`a webhook's event (${engine})`, () => {
    let server: TestServer;
    let receiver: Receiver;
    before(async () => {
      server = await startTestServer(engine, { settings: { KEYSTEAD_ALLOW_PRIVATE_NETWORKS: "true" } });
      receiver = await startReceiver();
    });
    after(async () => {
      await server.close();
      await receiver.close();
    });

    it("has the body that is stored with its activity, each time it is sent", async () => {
      const { root } = server;
      const hooks = webhooksOf(root);
      const endpointId = await hooks.create(receiver.url);
      const body = renamed(root, "Told", 500_000);
      const { activity } = (await root.post(RENAME, body)).body;
      const isDelivered = ({ status }: Json) => status === "DELIVERED";
      const { deliveryId } = await hooks.newest(endpointId, isDelivered);
      await hooks.rename("Another");
      await hooks.result("redeliver_webhook", { deliveryId });
      await receiver.waitFor(3);
      const told = receiver.received.filter(({ body }) => JSON.parse(body).id === activity.id);
      assert.equal(told.length, 2);
      assert.equal(told[0]?.body, told[1]?.body);
      const event = JSON.parse(told[0]?.body ?? "");
      assert.deepEqual(event.intent, { updateOrganizationNameIntent: { organizationName: "Told" } });
      assert.equal(event.votes[0].message, body);
      const rows = await server.opened.database.read.selectFrom("webhook_events").select("body").execute();
      assert.ok(bytesOf(rows) < 50_000, `${bytesOf(rows)} bytes of events`);
    });

    it("is listed with its last attempts, however often it was tried", async () => {
      const { root } = server;
      const hooks = webhooksOf(root);
      const endpointId = await hooks.create(receiver.url);
      await hooks.rename("Tried");
      const { deliveryId } = await hooks.newest(endpointId, ({ status }) => status === "DELIVERED");
      const { organizationId } = root;
      const count = 2 * MAX_SHOWN_ATTEMPTS;
      const later = Array.from({ length: count - 1 }, (_, index) => ({
        organization_id: organizationId,
        delivery_id: deliveryId,
        number: index + 2,
        started_at: index,
        duration_ms: index + 2,
        status_code: 500,
        error: null,
      }));
      await server.opened.database.transact(organizationId, async (tx) => {
        await tx.insertInto("webhook_attempts").values(later).execute();
        const deliveries = tx.updateTable("webhook_deliveries").set({ attempts: count });
        await deliveries.where("organization_id", "=", organizationId).where("id", "=", deliveryId).execute();
      });
      const [delivery] = await hooks.list(endpointId, 1);
      assert.deepEqual(
        delivery.attempts.map(({ durationMs }: Json) => durationMs),
        later.slice(-MAX_SHOWN_ATTEMPTS).map(({ number }) => number),
      );
    });
  });
}

for (const engine of engines) {
  describe(`large activities that many ask for at once (${engine})`, () => {
    let server: ServerProcess;
    before(async () => {
      const options =
        engine === "postgres"
          ? { databaseUrl: await createTestDatabase(testPostgresUrl(), `bytes_${newId().replaceAll("-", "")}`) }
          : {};
      server = await startServerProcess({ dataDir: temporaryFolder(), ...options });
    });
    after(() => server.end("SIGKILL"));

    it("are read a few at a time, in bounded memory, while others are served", async () => {
      const { root } = server;
      const ids: string[] = [];
      for (const name of ["One", "Two", "Three"]) {
        ids.push((await root.post(RENAME, renamed(root, name, 3_900_000))).body.activity.id);
      }
      const early = residentBytes(server.pid);
      let most = early;
      const sampling = setInterval(() => {
        most = Math.max(most, residentBytes(server.pid));
      }, 50);
      const asked = Array.from({ length: 120 }, (_, index) => {
        const body = JSON.stringify({ organizationId: root.organizationId, activityId: ids[index % ids.length] });
        return statusOf(`127.0.0.${2 + index}`, root, "/public/v1/query/get_activity", body);
      });
      for (let times = 0; times < 10; times++) assert.equal((await root.query("whoami")).status, 200);
      const statuses = new Set(await Promise.all(asked));
      clearInterval(sampling);
      assert.deepEqual([...statuses], [200]);
      assert.ok(most - early < MAX_GROWTH_BYTES, `memory grew by ${most - early} bytes`);
    });
  });
}

/** Takes the answer without keeping it: what is measured is the server. */
async function statusOf(localAddress: string, client: Client, path: string, body: string): Promise<number | undefined> {
  const headers = { "content-type": "application/json", "x-stamp": client.stamp(body) };
  const sent = request(new URL(path, client.baseUrl), { method: "POST", localAddress, agent: false, headers });
  const [response] = (await once(sent.end(body), "response")) as [IncomingMessage];
  await once(response.resume(), "end");
  return response.statusCode;
}

describe("denials that are stored", () => {
  it("are bounded for a user, and for all of an organization together", () => {
    let now = 0;
    const admission = new Admission({ organization: 0, credential: 0, failures: 0 }, 8, () => now);
    const denied = (userId: string) => {
      try {
        admission.countDenial("organization", userId);
        return true;
      } catch (error) {
        assert.match((error as Error).message, /^Too many requests.*too many activities were denied/);
        return false;
      }
    };
    const countOf = (userId: string): number => {
      let count = 0;
      while (denied(userId)) count++;
      return count;
    };
    assert.equal(countOf("a"), DENIALS_OF_ONE_USER.burst);
    assert.equal(countOf("b"), DENIALS_OF_ONE_USER.burst, "another user has their own");
    let total = 2 * DENIALS_OF_ONE_USER.burst;
    for (let user = 0; user < 100; user++) total += countOf(`user ${user}`);
    assert.equal(total, DENIALS_OF_ONE_ORGANIZATION.burst);
    now += 3_600_000;
    assert.ok(denied("a"));
  });
});

const withoutTime = () => ({ elapsed: () => 0 });
onEachEngine(
  "a user who has asked for too much that they may not",
  (server) => {
    it("is told 429, nothing more is stored, and the others are denied and served as ever", async () => {
      const { root, user, organizationId } = await createWorld(server());
      const other = await addUser(root.client);
      const deny = ({ client }: { client: Client }) =>
        client.submit("update_organization_name", { organizationName: "X" });
      const countRejected = async () => {
        const rows = server().opened.database.read.selectFrom("activities").select("id");
        return (await rows.where("organization_id", "=", organizationId).where("status", "like", "%REJECTED").execute())
          .length;
      };
      let answer = await deny(user);
      for (let times = 0; answer.status === 403 && times < 30; times++) {
        [answer] = (await Promise.all(Array.from({ length: 50 }, () => deny(user)))).sort(
          (one, other) => other.status - one.status,
        ) as [typeof answer];
      }
      assert.equal(answer.status, 429);
      assert.ok(Number(answer.headers.get("retry-after")) >= 1);
      assert.ok((await countRejected()) < DENIALS_OF_ONE_USER.burst + 60);
      assert.equal((await deny(other)).status, 403);
      await root.client.result("update_organization_name", { organizationName: "Ours" });
      assert.equal((await user.client.query("whoami")).status, 200);
    });
  },
  withoutTime,
);
