import assert from "node:assert/strict";
import { it } from "node:test";
import { ActivitiesOfMonth, MonthlyQuota } from "../../src/engine/activities/monthly-quota.ts";
import { storeQuota } from "../../src/engine/authority/stored-quotas.ts";
import { newId, newIdAt } from "../../src/kernel/ids.ts";
import { COUNTED_ACTIVITIES_AT_ONCE } from "../../src/kernel/limits.ts";
import { onEachEngine } from "../support/server.ts";
import { until } from "../support/until.ts";
import { createWorld } from "../support/world.ts";

onEachEngine("activities a month", (server) => {
  const MAY = Date.UTC(2020, 4, 1);
  const JUNE = Date.UTC(2020, 5, 1);
  const SECOND = 1000;

  const organization = async () => {
    const id = newId();
    const [sealed_key, quorum_threshold, created_at, updated_at] = [Buffer.alloc(1), 1, MAY, MAY];
    const row = { id, parent_id: null, name: "Busy", sealed_key, quorum_threshold, created_at, updated_at };
    await server().opened.database.transact(id, (tx) => tx.insertInto("organizations").values(row).execute());
    return id;
  };
  /** Stores activities as they would have been at these times. */
  const store = (organizationId: string, times: readonly number[], { body = "", result = "" } = {}) =>
    server().opened.database.transact(organizationId, async (tx) => {
      for (let done = 0; done < times.length; done += 1000) {
        const rows = times.slice(done, done + 1000).map((at) => ({
          id: newIdAt(at),
          organization_id: organizationId,
          type: "ACTIVITY_TYPE_CREATE_USERS",
          status: "ACTIVITY_STATUS_COMPLETED" as const,
          fingerprint: newId(),
          intent: "{}",
          body,
          result,
          created_at: at,
          updated_at: at,
        }));
        await tx.insertInto("activities").values(rows).execute();
      }
    });

  it("are those since it began in UTC, however many and in whatever order they come to be stored", async () => {
    const id = await organization();
    const month = new ActivitiesOfMonth(id);
    const countedBy = async (each: ActivitiesOfMonth, now: number) =>
      (await each.count(server().opened.database.read, now)).count;
    await store(id, [MAY - 1, MAY, MAY + 1]);
    assert.equal(await countedBy(month, MAY + 60 * SECOND), 2);
    // One that comes later has an earlier time than another that was counted already.
    await store(id, [MAY + 59 * SECOND]);
    assert.equal(await countedBy(month, MAY + 60 * SECOND), 3);
    await store(id, [MAY + 58 * SECOND]);
    assert.equal(await countedBy(month, MAY + 60 * SECOND), 4);
    const many = Array.from({ length: COUNTED_ACTIVITIES_AT_ONCE }, (_, at) => MAY + 100 * SECOND + at);
    await store(id, many);
    assert.equal(await countedBy(month, MAY + 3600 * SECOND), 4 + many.length);
    assert.equal(await countedBy(new ActivitiesOfMonth(id), MAY + 3600 * SECOND), 4 + many.length);
    await store(id, [JUNE, JUNE + 1]);
    assert.equal(await countedBy(month, JUNE + 1), 2);
  });

  it("are refused above the quota, but for those that there are already, until the month ends", async () => {
    const { database } = server().opened;
    const id = await organization();
    let now = MAY + 60 * SECOND;
    const quota = new MonthlyQuota(database.read, () => now);
    const isNew = async () => false;
    await store(id, [MAY, MAY + 1]);
    await database.transact(id, (tx) => storeQuota(tx, id, "activitiesPerMonth", 3, now));
    await quota.take(id, 1, () => assert.fail("there is room for it, known or not"));
    // It may be counted anew before the next one.
    await store(id, [MAY + 2]);
    await assert.rejects(quota.take(id, 1, isNew), { code: "QUOTA_EXCEEDED", httpStatus: 429 });
    await quota.take(id, 1, async () => true);
    now = JUNE;
    // What is known is kept for a moment.
    const isTaken = () =>
      quota.take(id, 1, isNew).then(
        () => true,
        () => false,
      );
    await until(isTaken, "the new month to be counted");
  });

  it("are refused above their bytes, whatever their number, as long as they are new", async () => {
    const { database } = server().opened;
    const id = await organization();
    const now = MAY + 3600 * SECOND;
    // Settled, and of this moment.
    await store(id, [MAY, MAY + 1], { body: "1234", result: "56" });
    await store(id, [now], { body: "12é", result: "" });
    const bytes = 2 * (4 + 2 + "{}".length) + (4 + "{}".length);
    assert.deepEqual(await new ActivitiesOfMonth(id).count(database.read, now), { count: 3, bytes });
    const month = new ActivitiesOfMonth(id);
    assert.equal((await month.count(database.read, now, { withBytes: false })).count, 3);
    // Who counted without them counts anew.
    assert.deepEqual(await month.count(database.read, now), { count: 3, bytes });
    await database.transact(id, (tx) => storeQuota(tx, id, "activityBytesPerMonth", bytes + 100, now));
    const quota = new MonthlyQuota(database.read, () => now);
    const isNew = async () => false;
    await assert.rejects(quota.take(id, 101, isNew), {
      code: "QUOTA_EXCEEDED",
      message: /bytes of activities in a calendar month .+`activityBytesPerMonth`/,
    });
    await quota.take(id, 101, async () => true);
    await quota.take(id, 60, isNew);
    await assert.rejects(quota.take(id, 60, isNew), { code: "QUOTA_EXCEEDED" });
    await database.transact(id, (tx) => storeQuota(tx, id, "activityBytesPerMonth", 100_000_000_000, now));
    await new MonthlyQuota(database.read, () => now).take(id, 101, () => assert.fail("there is room for it"));
  });

  it("above the quota are refused if they are new; a body that was sent before has its answer, and votes go on", async () => {
    const { database } = server().opened;
    const world = await createWorld(server());
    const { client } = world.root;
    const path = "/public/v1/submit/create_user_tag";
    const tag = () => client.submitBody("create_user_tag", { userTagName: newId(), userIds: [] });
    const sent = tag();
    const first = await client.post(path, sent);
    assert.equal(first.status, 200);
    const second = await world.quorumOfTwo();
    const waiting = await client.post(path, tag());
    const { fingerprint, status } = waiting.body.activity;
    assert.equal(status, "ACTIVITY_STATUS_CONSENSUS_NEEDED");
    const { organizationId } = world;
    await database.transact(organizationId, (tx) =>
      storeQuota(tx, organizationId, "activitiesPerMonth", 1, Date.now()),
    );
    await until(async () => (await client.post(path, tag())).status === 429, "the quota to be known");
    const again = await client.post(path, sent);
    assert.equal(again.status, 200, JSON.stringify(again.body));
    assert.equal(again.body.activity.id, first.body.activity.id);
    const approved = await second.client.submit("approve_activity", { fingerprint });
    assert.equal(approved.status, 200, JSON.stringify(approved.body));
    assert.equal(approved.body.activity.status, "ACTIVITY_STATUS_COMPLETED");
  });
});
