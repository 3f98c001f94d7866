import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { it } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { pruneCounts } from "../../src/capabilities/activities/count-by-day.ts";
import { recordOperatorActivity } from "../../src/engine/activities/operator-activities.ts";
import { DAY_MS } from "../../src/kernel/durations.ts";
import { newId } from "../../src/kernel/ids.ts";
import { MAX_USER_ACTIVITIES_LOOKED_THROUGH } from "../../src/kernel/limits.ts";
import { addUser, type Client, generateApiKey, type Json } from "../support/client.ts";
import { startReceiver } from "../support/receiver.ts";
import { onEachEngine, startTestServer } from "../support/server.ts";
import { until } from "../support/until.ts";
import { createWorld } from "../support/world.ts";

const path = "/public/v1/submit/update_organization_name";

let clockAheadMs = 0;
const movedClock = () => {
  clockAheadMs = 0;
  return { clock: () => Date.now() + clockAheadMs };
};

/** What is counted of an organization once a server has had the time to, by name. */
async function countsOf(client: Client): Promise<Record<string, Record<string, number>>> {
  const { firstDay: _, lastDay: __, ...counts } = await client.read("get_activity_counts");
  const sums = Object.entries<Json[]>(counts).map(([of, days]) => {
    const names = Map.groupBy(days, ({ name }) => name);
    return [
      of,
      Object.fromEntries([...names].map(([name, each]) => [name, each.reduce((sum, { count }) => sum + count, 0)])),
    ];
  });
  return Object.fromEntries(sums);
}

/** A wallet that somebody else asked for, and that the user named has to approve. */
async function waitingFor(root: Client, userId: string): Promise<{ id: string; fingerprint: string }> {
  const { client } = await addUser(root, "Asking");
  await root.result("create_policy", {
    policyName: `Two for ${userId}`,
    effect: "EFFECT_ALLOW",
    condition: "activity.type == 'ACTIVITY_TYPE_CREATE_WALLET'",
    consensus: `approvers.any(user, user.id == '${userId}') && approvers.count() >= 2`,
    notes: "",
  });
  const { body } = await client.submit("create_wallet", { walletName: `Of ${userId}`, accounts: [] });
  return body.activity;
}

onEachEngine(
  "activities",
  (server) => {
    it("carry the fingerprint of the exact body, and are one for one body", async () => {
      const { root } = server();
      const body = root.submitBody("update_organization_name", { organizationName: "Once" });
      const first = await root.post(path, body);
      assert.equal(first.body.activity.fingerprint, `sha256:${createHash("sha256").update(body).digest("hex")}`);
      await root.result("update_organization_name", { organizationName: "Later" });
      const second = await root.post(path, body);
      assert.deepEqual(second.body, first.body);
      assert.equal((await root.read("whoami")).organizationName, "Later");
    });

    it("read null as absent and ignore what stands beside the parameters", async () => {
      const { root } = server();
      const more = { generateAppProofs: false, somethingNew: { a: [1] }, other: null };
      const parameters = { userId: (await root.read("whoami")).userId, userName: "Named", userEmail: null };
      const answer = await root.submit("update_user", parameters, { more });
      assert.equal(answer.status, 200);
      assert.deepEqual(Object.keys(answer.body.activity.intent.updateUserIntent), ["userId", "userName"]);
      const inside = await root.submit("update_user", { ...parameters, generateAppProofs: false });
      assert.equal(inside.status, 200);
      assert.deepEqual(Object.keys(inside.body.activity.intent.updateUserIntent), ["userId", "userName"]);
      const refused = await root.submit("update_user", parameters, { more: { generateAppProofs: "yes" } });
      assert.equal(refused.status, 400);
      assert.match(refused.body.message, /generateAppProofs/);
    });

    it("are accepted for an hour, and from clocks a little ahead", async () => {
      const { root } = server();
      const minute = 60_000;
      const cases: [number, number][] = [
        [-59 * minute, 200],
        [-61 * minute, 400],
        [4 * minute, 200],
        [6 * minute, 400],
      ];
      for (const [offset, status] of cases) {
        const timestampMs = String(Date.now() + offset);
        const answer = await root.submit("update_organization_name", { organizationName: "Timed" }, { timestampMs });
        assert.equal(answer.status, status, `${offset} ms`);
        if (status === 400) assert.equal(answer.body.turnkeyErrorCode, "REQUEST_INVALID");
      }
    });

    it("that are denied say so, change nothing, and stay listed as rejected", async () => {
      const { root } = server();
      const { userId, client } = await addUser(root);
      const body = client.submitBody("update_organization_name", { organizationName: "Taken over" });
      for (const answer of [await client.post(path, body), await client.post(path, body)]) {
        assert.equal(answer.status, 403);
        assert.equal(answer.body.code, 7);
        assert.match(answer.body.message, /^You don't have sufficient permissions to take this action\./);
        assert.equal(answer.body.details[0]["@type"], "type.googleapis.com/errors.v1.PolicyEnginePermissionError");
        assert.equal(answer.body.details[0].message, "No policies evaluated to outcome: Allow");
      }
      assert.notEqual((await root.read("whoami")).organizationName, "Taken over");
      const { activities } = await root.read("list_activities", { filterByStatus: ["ACTIVITY_STATUS_REJECTED"] });
      const mine = activities.filter(({ votes }: Json) => votes[0].userId === userId);
      assert.equal(mine.length, 1);
      assert.equal(mine[0].failure.code, 7);
    });

    it("that record what an operator did are not voted on", async () => {
      const { database } = server().opened;
      const world = await createWorld(server());
      const { organizationId, root } = world;
      const intent = { quota: "users" as const, figure: 5, operator: { user: "admin", host: "machine" } };
      const result = { figure: 5, previousFigure: null };
      const { id, fingerprint } = await database.transact(organizationId, (tx) =>
        recordOperatorActivity(tx, organizationId, "ACTIVITY_TYPE_SET_ORGANIZATION_QUOTA", {
          intent,
          result,
          now: Date.now(),
        }),
      );
      for (const path of ["approve_activity", "reject_activity"]) {
        const { status, body } = await root.client.submit(path, { fingerprint });
        assert.equal(status, 400, JSON.stringify(body));
        assert.match(
          body.message,
          new RegExp(`${id} can no longer be voted on: its status is ACTIVITY_STATUS_COMPLETED`),
        );
      }
      const { activity } = await root.client.read("get_activity", { activityId: id });
      assert.deepEqual([activity.status, activity.votes], ["ACTIVITY_STATUS_COMPLETED", []]);
    });

    it("are listed newest first, page by page, narrowed by type and status", async () => {
      const { root } = server();
      for (let i = 0; i < 12; i++) await root.result("create_user_tag", { userTagName: `t${i}`, userIds: [] });
      const filter = { filterByType: ["ACTIVITY_TYPE_CREATE_USER_TAG"], filterByStatus: ["ACTIVITY_STATUS_COMPLETED"] };
      const ids = async (paginationOptions: object) =>
        (await root.read("list_activities", { ...filter, paginationOptions })).activities.map(({ id }: Json) => id);
      const all = await ids({ limit: "100" });
      assert.equal(all.length, 12);
      assert.deepEqual(all, [...all].sort().reverse());
      const first = await ids({});
      assert.deepEqual(first, all.slice(0, 10), "ten unless said otherwise");
      assert.deepEqual(await ids({ limit: "5", before: first.at(-1) }), all.slice(10));
      assert.deepEqual(await ids({ limit: "3", after: all[5] }), all.slice(2, 5));
      assert.deepEqual(await ids({ limit: "3", before: "", after: "" }), all.slice(0, 3));
      for (const bad of [{ limit: "0" }, { limit: "101" }, { limit: 5 }, { before: all[0], after: all[1] }]) {
        const answer = await root.query("list_activities", { ...filter, paginationOptions: bad });
        assert.equal(answer.status, 400, JSON.stringify(bad));
        assert.match(answer.body.message, /paginationOptions/);
      }
    });

    it("are listed of one user, who submitted or voted on them, with the other filters and page by page", async () => {
      const { root } = server();
      const { userId, client } = await addUser(root, "Listed");
      await root.result("create_policy", {
        policyName: `Listed ${userId}`,
        effect: "EFFECT_ALLOW",
        condition: "activity.type == 'ACTIVITY_TYPE_CREATE_USER_TAG'",
        consensus: `approvers.any(user, user.id == '${userId}')`,
        notes: "",
      });
      const submitted: string[] = [];
      for (let i = 0; i < 6; i++) {
        const { body } = await client.submit("create_user_tag", { userTagName: `of ${userId} ${i}`, userIds: [] });
        submitted.unshift(body.activity.id);
        await root.result("create_user_tag", { userTagName: `beside ${userId} ${i}`, userIds: [] });
      }
      const denied = await client.submit("update_organization_name", { organizationName: "Denied" });
      assert.equal(denied.status, 403);
      const list = (request: object) => root.read("list_activities", { filterByUserId: userId, ...request });
      const ids = async (request: object) => (await list(request)).activities.map(({ id }: Json) => id);
      const all = await ids({ paginationOptions: { limit: "100" } });
      assert.deepEqual(all.slice(1), submitted, "what was denied is the newest");
      assert.deepEqual(await ids({ paginationOptions: { limit: "2" } }), all.slice(0, 2));
      assert.deepEqual(await ids({ paginationOptions: { limit: "3", before: all[1] } }), all.slice(2, 5));
      assert.deepEqual(await ids({ paginationOptions: { limit: "2", after: all[4] } }), all.slice(2, 4));
      assert.deepEqual(await ids({ filterByStatus: ["ACTIVITY_STATUS_REJECTED"] }), all.slice(0, 1));
      const tags = { filterByType: ["ACTIVITY_TYPE_CREATE_USER_TAG"], paginationOptions: { limit: "4" } };
      assert.deepEqual(await list(tags).then(({ hasMore }) => hasMore), undefined);
      assert.deepEqual(await ids(tags), submitted.slice(0, 4));
      assert.deepEqual(await ids({ ...tags, filterByStatus: ["ACTIVITY_STATUS_FAILED"] }), []);
      assert.equal((await root.query("list_activities", { filterByUserId: newId() })).status, 404);
      assert.equal((await root.query("list_activities", { filterByUserId: "Listed" })).status, 400);
      const { body } = await root.query("list_activities", { filterByType: ["CREATE_USER_TAG"] });
      assert.match(body.message, /`filterByType.0` must be an activity type, such as ACTIVITY_TYPE_\w+$/);
      await client.result("create_user_tag", { userTagName: `voted on ${userId}`, userIds: [] });
      const { fingerprint, id: waiting } = await waitingFor(root, userId);
      await client.submit("approve_activity", { fingerprint });
      assert.equal((await ids({}))[0], waiting);
      await root.result("delete_users", { userIds: [userId] });
      assert.equal((await ids({}))[0], waiting, "of a user who is gone too");
      const { userId: silent } = await addUser(root, "Silent");
      assert.deepEqual(await ids({ filterByUserId: silent }), []);
    });

    it("of one user are looked through up to a bound where other filters find few of them", async () => {
      const { opened } = server();
      // An organization of its own: no other test meets what is written here.
      const root = (await createWorld(server())).root.client;
      const { userId, client } = await addUser(root, "Busy");
      await client.submit("update_organization_name", { organizationName: "Denied" });
      const { activities } = await root.read("list_activities", { filterByUserId: userId });
      const { organizationId } = root;
      const of = { organization_id: organizationId };
      const { read } = opened.database;
      const activity = await read
        .selectFrom("activities")
        .selectAll()
        .where("organization_id", "=", organizationId)
        .where("id", "=", activities[0].id)
        .executeTakeFirstOrThrow();
      const vote = await read
        .selectFrom("votes")
        .selectAll()
        .where("organization_id", "=", organizationId)
        .where("activity_id", "=", activities[0].id)
        .executeTakeFirstOrThrow();
      const newer = Array.from({ length: MAX_USER_ACTIVITIES_LOOKED_THROUGH }, () => newId());
      const insert = (some: readonly string[]) =>
        opened.database.transact(organizationId, async (tx) => {
          const rows = some.map((id) => ({ ...activity, ...of, id, fingerprint: id, body: null, type: "OTHER" }));
          await tx.insertInto("activities").values(rows).execute();
          const votes = some.map((id) => ({ ...vote, ...of, id, activity_id: id }));
          await tx.insertInto("votes").values(votes).execute();
        });
      for (let from = 1; from < newer.length; from += 500) await insert(newer.slice(from, from + 500));
      // Rows that come in such heaps are told to the planner by nobody; the server has that done for those of requests.
      if (read.kind === "postgres") await read.all({ sql: "analyze activities, votes", parameters: [] });
      const filter = {
        filterByUserId: userId,
        filterByStatus: [activities[0].status],
        filterByType: [activities[0].type],
      };
      const found = await root.read("list_activities", filter);
      assert.deepEqual([found.activities.map(({ id }: Json) => id), found.hasMore], [[activities[0].id], undefined]);
      await insert(newer.slice(0, 1));
      assert.deepEqual(await root.read("list_activities", filter), { activities: [], hasMore: true });
    });

    it("write their times as text, and as objects for the published SDKs", async () => {
      const { root } = server();
      const times = async (headers: Record<string, string>) => {
        const answer = await root.submit("update_organization_name", { organizationName: "Times" }, { headers });
        const { createdAt, id } = answer.body.activity;
        const read = (await root.query("get_activity", { activityId: id }, headers)).body.activity.createdAt;
        const listed = (await root.query("list_activities", {}, headers)).body.activities[0].createdAt;
        assert.deepEqual(read, createdAt);
        assert.deepEqual(listed, createdAt);
        return createdAt;
      };
      assert.match(await times({}), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      for (const headers of [
        { "x-client-version": "@turnkey/http@1.0.0" },
        { "user-agent": "turnkey-rust-client/0.1" },
        { "user-agent": "Go-http-client/1.1" },
      ]) {
        const time = await times(headers as unknown as Record<string, string>);
        assert.match(time.seconds, /^\d+$/);
        assert.match(time.nanos, /^\d+$/);
      }
    });

    it("are read whatever content type the client claims", async () => {
      const { root } = server();
      const body = JSON.stringify({ organizationId: root.organizationId });
      for (const contentType of ["application/json", "text/plain", "application/octet-stream"]) {
        const answer = await root.post("/public/v1/query/whoami", body, { "content-type": contentType });
        assert.equal(answer.status, 200, contentType);
        assert.equal(answer.headers.get("content-type"), "application/json");
      }
      const nonsense = await root.post("/public/v1/query/whoami", body, { "content-type": "nonsense" });
      assert.equal(nonsense.status, 400);
      assert.match(nonsense.body.message, /Content-Type/);
      const bytes = new TextEncoder().encode(body);
      const bare = await fetch(`${root.baseUrl}/public/v1/query/whoami`, {
        method: "POST",
        headers: { "x-stamp": root.stamp(body) },
        body: bytes,
      });
      assert.equal(bare.status, 200);
    });

    it("of unknown paths and methods are not found", async () => {
      const { root } = server();
      const answer = await root.post("/public/v1/submit/no_such_thing", "{}");
      assert.equal(answer.status, 404);
      assert.equal(answer.body.code, 5);
      const get = await fetch(`${root.baseUrl}/public/v1/query/whoami`);
      assert.equal(get.status, 404);
      assert.equal(get.headers.get("content-type"), "application/json");
    });

    /** A piece that was counted while an organization was deleted leaves counts of it, for an hour. */
    async function leavesNoCounts(deletedId: string): Promise<void> {
      const { database } = server().opened;
      const clock = () => Date.now() + clockAheadMs;
      const left = {
        day: Math.floor(clock() / DAY_MS),
        source: "ACTIVITY",
        type: "T",
        outcome: "LEFT",
        detail: "",
      } as const;
      const ids = [deletedId, server().credentials.organizationId];
      await database.transact(undefined, (tx) =>
        tx
          .insertInto("daily_counts")
          .values(ids.map((organization_id) => ({ organization_id, ...left, count: 1 })))
          .execute(),
      );
      await pruneCounts.run({ database, clock } as never);
      const found = database.read.selectFrom("daily_counts").select("organization_id").where("outcome", "=", "LEFT");
      assert.deepEqual(
        (await found.execute()).map((row) => row.organization_id),
        ids.slice(1),
      );
    }

    it("are counted by day once they are over, each of them once", async () => {
      const world = await createWorld(server(), "subOrganizations");
      const { client } = world.root;
      const decided = async () => {
        const { activities } = await client.read("list_activities", { paginationOptions: { limit: "100" } });
        const over = activities.filter(({ status }: Json) => /COMPLETED|REJECTED|FAILED/.test(status));
        return Object.fromEntries(
          [...Map.groupBy(over, ({ status }: Json) => status)].map(([status, all]) => [status, all.length]),
        );
      };
      const receiver = await startReceiver();
      try {
        const key = { privateKeyName: "key", curve: "CURVE_SECP256K1", privateKeyTags: [], addressFormats: [] };
        const { privateKeys } = await client.result("create_private_keys", { privateKeys: [key] });
        const signWith = privateKeys[0].privateKeyId;
        const payload = {
          signWith,
          payload: "00",
          encoding: "PAYLOAD_ENCODING_HEXADECIMAL",
          hashFunction: "HASH_FUNCTION_SHA256",
        };
        const unsignedTransaction = "0x02df018001028252089435353535353535353535353535353535353535350180c0";
        await client.result("sign_transaction", { signWith, unsignedTransaction, type: "TRANSACTION_TYPE_ETHEREUM" });
        await client.result("sign_raw_payload", payload);
        await client.result("stamp_login", { publicKey: generateApiKey().publicKey, expirationSeconds: "60" });
        assert.equal(
          (await world.user.client.submit("create_user_tag", { userTagName: "denied", userIds: [] })).status,
          403,
        );
        assert.equal((await world.user.client.submit("sign_raw_payload", payload)).status, 403);
        const subscriptions = [{ eventType: "ACTIVITY_UPDATES" }];
        await client.result("create_webhook_endpoint", { name: "told", url: receiver.url, subscriptions });
        await client.result("sign_raw_payload", payload);
        await receiver.waitFor(1);
        const counted = async (signed: number) => {
          clockAheadMs += 60_000;
          await until(async () => {
            const { outcomes, webhookDeliveries } = await countsOf(client);
            return isDeepStrictEqual(outcomes, await decided()) && webhookDeliveries?.DELIVERED !== undefined;
          });
          const { outcomes: _, webhookDeliveries: __, ...others } = await countsOf(client);
          assert.deepEqual(others, { signatures: { ETHEREUM: 1, PAYLOADS: signed }, signIns: { STAMP: 1 } });
        };
        await counted(2);
        await client.result("sign_raw_payload", payload);
        await counted(3);
        assert.deepEqual((await client.query("get_activity_counts", { days: 91 })).status, 400);
        await client.result("delete_sub_organization", { deleteWithoutExport: true });
        assert.deepEqual((await countsOf(world.reader)).outcomes, {});
        await leavesNoCounts(client.organizationId);
      } finally {
        await receiver.close();
      }
    });
  },
  movedClock,
);

it("the times of activities have one form for everybody where the settings say so", async () => {
  for (const form of ["text", "object"]) {
    const server = await startTestServer("sqlite", { settings: { KEYSTEAD_ACTIVITY_TIMES: form } });
    try {
      for (const headers of [{ "user-agent": "Go-http-client/1.1" }, { "user-agent": "curl/8.0" }]) {
        const { body } = await server.root.submit("update_organization_name", { organizationName: form }, { headers });
        assert.equal(typeof body.activity.createdAt === "string" ? "text" : "object", form);
      }
    } finally {
      await server.close();
    }
  }
});
