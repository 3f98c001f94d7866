import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { findActivity, findFurtherStamps, findVotes } from "../../src/engine/activities/rows.ts";
import { storedStamps } from "../../src/engine/activities/stamps.ts";
import { verifyStamps } from "../../src/engine/activities/verify-stamps.ts";
import { newId } from "../../src/kernel/ids.ts";
import { createAuthenticator } from "../support/authenticator.ts";
import {
  addUser,
  apiKeyParams,
  authenticatorParams,
  type Client,
  generateApiKey,
  type Json,
} from "../support/client.ts";
import { dumpDatabase } from "../support/database-dump.ts";
import { openPlanReader } from "../support/query-plans.ts";
import { engines, onEachEngine, startTestServer, type TestServer } from "../support/server.ts";
import { createWorld, type Member } from "../support/world.ts";

const CONSENSUS = "ACTIVITY_STATUS_CONSENSUS_NEEDED";
const NEEDED = "ACTIVITY_STATUS_AUTHENTICATORS_NEEDED";
const COMPLETED = "ACTIVITY_STATUS_COMPLETED";
const site = { origin: "https://wallet.example", rpId: "wallet.example" };

const rename = async (client: Client) =>
  (await client.submit("update_organization_name", { organizationName: `Name ${newId()}` })).body.activity;
async function vote(client: Client, { fingerprint }: Json, path = "approve_activity"): Promise<Json> {
  const { body } = await client.submit(path, { fingerprint });
  return body.activity ?? assert.fail(JSON.stringify(body));
}
const reading = async (client: Client, { id }: Json) =>
  (await client.read("get_activity", { activityId: id })).activity;
const takenBack = ({ votes }: Json): string[] =>
  votes.filter(({ revokedAt }: Json) => revokedAt !== undefined).map(({ userId }: Json) => userId);

/** A further lasting key of a user. */
async function addKey({ userId, client }: Member, more: object = {}) {
  const key = generateApiKey();
  const { apiKeyIds } = await client.result("create_api_keys", { userId, apiKeys: [apiKeyParams(key, more)] });
  return { apiKeyId: apiKeyIds[0] as string, client: client.with({ key }), key };
}

async function addPasskey({ userId, client }: Member) {
  const passkey = { authenticator: createAuthenticator(), ...site };
  const authenticators = [authenticatorParams(passkey)];
  const { authenticatorIds } = await client.result("create_authenticators", { userId, authenticators });
  return { authenticatorId: authenticatorIds[0] as string, client: client.withPasskey(passkey) };
}

const deleteKey = (by: Client, userId: string, apiKeyId: string) =>
  by.result("delete_api_keys", { userId, apiKeyIds: [apiKeyId] });

/** Three members of the root quorum, all needed. */
async function threeMembers(server: TestServer): Promise<[Member, Member, Member]> {
  const { root } = await createWorld(server);
  const [second, third] = [await addUser(root.client, "Second"), await addUser(root.client, "Third")];
  const userIds = [root.userId, second.userId, third.userId];
  await root.client.result("update_root_quorum", { threshold: 3, userIds });
  return [root, second, third];
}

onEachEngine("what a deleted credential voted", (server) => {
  const trio = () => threeMembers(server());

  it("no longer counts in what is open, and the user may vote again", async () => {
    const [first, second, third] = await trio();
    const lost = await addKey(second);
    const activity = await rename(first.client);
    assert.equal((await vote(lost.client, activity)).status, CONSENSUS);
    await deleteKey(second.client, second.userId, lost.apiKeyId);

    const seen = await reading(second.client, activity);
    assert.equal(seen.status, CONSENSUS);
    assert.deepEqual(takenBack(seen), [second.userId]);
    assert.deepEqual([seen.canApprove, seen.canReject], [true, true]);
    const { activities } = await first.client.read("list_activities", { paginationOptions: { limit: "5" } });
    assert.deepEqual(takenBack(activities.find(({ id }: Json) => id === activity.id)), [second.userId]);

    assert.equal((await vote(third.client, activity)).status, CONSENSUS, "two of three");
    const done = await vote(second.client, activity);
    assert.equal(done.status, COMPLETED);
    assert.equal(done.votes.length, 3);
    assert.deepEqual(takenBack(done), [], "the new vote took the place of the old one");
  });

  it("does not come back with the same key", async () => {
    const [first, second, third] = await trio();
    const lost = await addKey(second);
    const activity = await rename(first.client);
    await vote(lost.client, activity);
    await deleteKey(second.client, second.userId, lost.apiKeyId);
    const apiKeys = [apiKeyParams(lost.key)];
    await second.client.result("create_api_keys", { userId: second.userId, apiKeys });
    assert.equal((await vote(third.client, activity)).status, CONSENSUS);
    assert.equal((await vote(lost.client, activity)).status, COMPLETED, "but may be given again");
  });

  it("no longer counts for whoever asked; what they asked for stays open", async () => {
    const [first, second, third] = await trio();
    const lost = await addKey(first);
    const body = lost.client.submitBody("update_organization_name", { organizationName: `Name ${newId()}` });
    const path = "/public/v1/submit/update_organization_name";
    const { activity } = (await lost.client.post(path, body)).body;
    await deleteKey(first.client, first.userId, lost.apiKeyId);
    for (const { client } of [second, third]) assert.equal((await vote(client, activity)).status, CONSENSUS);
    const open = await reading(second.client, activity);
    assert.equal(open.votes[0].userId, first.userId, "it still shows who asked");
    assert.deepEqual(takenBack(open), [first.userId]);
    const again = await first.client.post(path, body);
    assert.equal(again.body.activity.id, activity.id);
    assert.equal(again.body.activity.status, COMPLETED, "the same body under another key is their vote again");
  });

  it("is kept with the activity when others decide it", async () => {
    const { root } = await createWorld(server());
    const [second, third] = [await addUser(root.client, "Second"), await addUser(root.client, "Third")];
    const userIds = [root.userId, second.userId, third.userId];
    await root.client.result("update_root_quorum", { threshold: 2, userIds });
    const lost = await addKey(root);
    const [approved, rejected] = [await rename(lost.client), await rename(lost.client)];
    await deleteKey(root.client, root.userId, lost.apiKeyId);
    assert.equal((await vote(second.client, approved)).status, CONSENSUS);
    const kept = await addKey(third);
    const done = await vote(kept.client, approved);
    assert.equal(done.status, COMPLETED);
    assert.deepEqual(takenBack(done), [root.userId]);
    assert.deepEqual(takenBack(await vote(second.client, rejected, "reject_activity")), [root.userId]);

    // What is decided is not changed by deletions to come.
    await deleteKey(third.client, third.userId, kept.apiKeyId);
    for (const activity of [approved, rejected]) {
      assert.deepEqual(takenBack(await reading(second.client, activity)), [root.userId]);
    }
  });

  it("counts for the very deletion that it was given for", async () => {
    const [first, second, third] = await trio();
    const goes = await addKey(second);
    const parameters = { userId: second.userId, apiKeyIds: [goes.apiKeyId] };
    const { activity } = (await first.client.submit("delete_api_keys", parameters)).body;
    await vote(goes.client, activity);
    const done = await vote(third.client, activity);
    assert.equal(done.status, COMPLETED, JSON.stringify(done.failure));
    assert.deepEqual(takenBack(done), []);
    assert.deepEqual(takenBack(await reading(first.client, activity)), []);
  });

  it("goes with a passkey, and with a user", async () => {
    const { root } = await createWorld(server());
    const [one, two] = [await addUser(root.client, "One"), await addUser(root.client, "Two")];
    await root.client.result("create_policy", {
      policyName: "Tags by three",
      effect: "EFFECT_ALLOW",
      condition: "activity.kind == 'CREATE_USER_TAG'",
      consensus: "approvers.count() >= 3",
      notes: "",
    });
    const [three, four] = [await addUser(root.client, "Three"), await addUser(root.client, "Four")];
    const passkey = await addPasskey(one);
    const { activity } = (await one.client.submit("create_user_tag", { userTagName: "t", userIds: [] })).body;
    await vote(two.client, activity);
    const other = (await passkey.client.submit("create_user_tag", { userTagName: "u", userIds: [] })).body.activity;
    await vote(two.client, other);
    await root.client.result("delete_users", { userIds: [two.userId] });
    const authenticatorIds = [passkey.authenticatorId];
    await one.client.result("delete_authenticators", { userId: one.userId, authenticatorIds });
    assert.deepEqual(takenBack(await reading(root.client, activity)), [two.userId]);
    const seen = await reading(root.client, other);
    assert.deepEqual(takenBack(seen), [one.userId, two.userId]);
    assert.equal(seen.votes[1].user.userName, "Two");
    for (const open of [activity, other]) assert.equal((await vote(three.client, open)).status, CONSENSUS);
    assert.equal((await vote(four.client, activity)).status, COMPLETED, "all but the user who is gone are three");
    assert.equal((await vote(four.client, other)).status, CONSENSUS, "all but that user and the passkey are two");
  });

  it("goes with a further credential that MFA asked for", async () => {
    const { root } = await createWorld(server());
    const [one, two] = [await addPasskey(root), await addPasskey(root)];
    const methods = [one, two].map(({ authenticatorId }) => ({
      any: [{ type: "AUTHENTICATION_TYPE_PASSKEY", id: authenticatorId }],
    }));
    await root.client.result("create_mfa_policy", {
      userId: root.userId,
      mfaPolicyName: "Both for tags",
      condition: "activity.kind == 'CREATE_USER_TAG'",
      requiredAuthenticationMethods: methods,
      order: 1,
    });
    const { activity } = (await root.client.submit("create_user_tag", { userTagName: "t", userIds: [] })).body;
    assert.equal(activity.status, NEEDED);
    assert.equal((await vote(one.client, activity)).status, NEEDED);
    const [{ satisfiedMethods }] = (await root.client.read("get_mfa_status", { activityId: activity.id })).mfaStatuses;
    assert.equal(satisfiedMethods.length, 1);
    const rows = await server().opened.database.read.selectFrom("authentications").selectAll().execute();
    const { credential_id } = rows.find(({ activity_id }) => activity_id === activity.id) ?? {};
    assert.equal(credential_id, one.authenticatorId);
    await server().opened.database.transact(root.client.organizationId, (tx) =>
      tx
        .insertInto("revocations")
        .values({ organization_id: root.client.organizationId, id: one.authenticatorId, revoked_at: 1 })
        .execute(),
    );
    assert.equal((await vote(two.client, activity)).status, NEEDED, "the first passkey counts no more");
  });

  it("leaves a further credential with what it has decided, and marks one that was taken back before", async () => {
    const { root } = await createWorld(server());
    const [early, late] = [await addPasskey(root), await addPasskey(root)];
    const mfa = {
      userId: root.userId,
      mfaPolicyName: "A passkey for tags",
      condition: "activity.kind == 'CREATE_USER_TAG'",
      requiredAuthenticationMethods: [{ any: [{ type: "AUTHENTICATION_TYPE_PASSKEY", id: late.authenticatorId }] }],
      order: 1,
    };
    await root.client.result("create_mfa_policy", mfa);
    const asked = (await root.client.submit("create_user_tag", { userTagName: "t", userIds: [] })).body.activity;
    assert.equal((await vote(early.client, asked)).status, NEEDED);
    const remove = async ({ authenticatorId }: { authenticatorId: string }) =>
      root.client.result("delete_authenticators", { userId: root.userId, authenticatorIds: [authenticatorId] });
    await remove(early);
    assert.equal((await vote(late.client, asked)).status, COMPLETED);
    const { mfaPolicies } = (await root.client.read("get_user", { userId: root.userId })).user;
    const { mfaPolicyId } = mfaPolicies[0];
    await root.client.result("delete_mfa_policy", { userId: root.userId, mfaPolicyId });
    await remove(late);

    const { read } = server().opened.database;
    const activity = await findActivity(read, root.client.organizationId, asked.id);
    assert.ok(activity);
    const further = await findFurtherStamps(read, activity);
    assert.deepEqual(
      further.map(({ credential, revokedAt }) => [credential.id, revokedAt === null]),
      [
        [early.authenticatorId, false],
        [late.authenticatorId, true],
      ],
    );
    const shown = (await storedStamps(read, activity, activity.updatedAt)).map(({ credential }) => credential.id);
    assert.ok(shown.includes(late.authenticatorId) && !shown.includes(early.authenticatorId));
    const verified = await verifyStamps(read, activity);
    assert.deepEqual(verified.map(({ of, verdict }) => `${of} ${verdict}`).sort(), [
      "further proof valid",
      "further proof valid",
      "vote valid",
    ]);
  });
});

onEachEngine("what a credential voted that has expired or made room since", (server) => {
  it("counts as before, for policies on credentials and for MFA too", async () => {
    const { root, user } = await createWorld(server());
    const short = await addKey(user, { expirationSeconds: "900" });
    await root.client.result("create_policy", {
      policyName: "Tags with that key",
      effect: "EFFECT_ALLOW",
      condition: "activity.kind == 'CREATE_USER_TAG'",
      consensus: `credentials.any(c, c.id == '${short.apiKeyId}') && approvers.count() >= 2`,
      notes: "",
    });
    await root.client.result("create_mfa_policy", {
      userId: user.userId,
      mfaPolicyName: "That key",
      condition: "activity.kind == 'CREATE_USER_TAG'",
      requiredAuthenticationMethods: [{ any: [{ type: "AUTHENTICATION_TYPE_API_KEY", id: short.apiKeyId }] }],
      order: 1,
    });
    const other = await addUser(root.client, "Other");
    const { activity } = (await short.client.submit("create_user_tag", { userTagName: "t", userIds: [] })).body;
    assert.equal(activity.status, CONSENSUS);
    const newer = Array.from({ length: 10 }, () => apiKeyParams(generateApiKey(), { expirationSeconds: "900" }));
    await user.client.result("create_api_keys", { userId: user.userId, apiKeys: newer });
    assert.equal((await short.client.query("whoami")).status, 401, "the newer ones pushed it out");
    assert.deepEqual(takenBack(await reading(user.client, activity)), []);
    assert.equal((await vote(other.client, activity)).status, COMPLETED);
  });
});

/** Activities that wait for somebody else's vote. */
const MANY = 500;

for (const engine of engines) {
  describe(`the deletion of a key that voted on much that is open (${engine})`, () => {
    let server: TestServer;
    before(async () => {
      server = await startTestServer(engine);
    });
    after(() => server.close());

    it("touches none of it", async () => {
      const [first, second] = await threeMembers(server);
      const lost = await addKey(second);
      const activity = await rename(first.client);
      await vote(lost.client, activity);
      await addManyOpen(server, activity, second.userId);
      const { database } = server.opened;
      const { organizationId } = first.client;
      const before = await dumpDatabase(database, [organizationId]);
      await deleteKey(second.client, second.userId, lost.apiKeyId);
      const now = await dumpDatabase(database, [organizationId]);
      for (const [table, added] of [
        ["activities", 1],
        ["votes", 1],
        ["revocations", 1],
      ] as const) {
        const old = new Set(before[table]);
        const rows = now[table] ?? [];
        assert.equal(rows.length, old.size + added, table);
        assert.equal(rows.filter((row) => !old.has(row)).length, added, `${table}: nothing else was written`);
      }
      const filter = { filterByStatus: [CONSENSUS], paginationOptions: { limit: "100" } };
      const { activities } = await first.client.read("list_activities", filter);
      assert.equal(activities.length, 100);
      for (const open of activities) assert.deepEqual(takenBack(open), [second.userId]);

      const plans = await openPlanReader(server.databaseUrl);
      try {
        const made = await plans.plansOf((tx) => findVotes(tx, { ...activity, organizationId }));
        const steps = made.flatMap((plan) => plan.steps).join("\n");
        if (engine === "sqlite") assert.match(steps, /SEARCH r USING .*\(organization_id=\? AND id=\?\)/);
        else assert.ok((made[0]?.mostRows as number) < 10, JSON.stringify(made));
      } finally {
        await plans.close();
      }
    });
  });
}

/** Copies of an open activity with its votes. */
async function addManyOpen({ opened: { database } }: TestServer, activity: Json, userId: string): Promise<void> {
  const { organizationId } = activity;
  const ofActivity = { organizationId, id: activity.id as string };
  const [original] = await database.read
    .selectFrom("activities")
    .selectAll()
    .where("organization_id", "=", organizationId)
    .where("id", "=", ofActivity.id)
    .execute();
  const votes = await database.read
    .selectFrom("votes")
    .selectAll()
    .where("organization_id", "=", organizationId)
    .where("activity_id", "=", ofActivity.id)
    .execute();
  assert.ok(original && votes.some((cast) => cast.user_id === userId));
  const ids = Array.from({ length: MANY }, () => newId());
  await database.transact(organizationId, async (tx) => {
    for (const id of ids) {
      await tx
        .insertInto("activities")
        .values({ ...original, id, fingerprint: `sha256:${id}` })
        .execute();
      await tx
        .insertInto("votes")
        .values(votes.map((cast) => ({ ...cast, id: cast.id === original.id ? id : newId(), activity_id: id })))
        .execute();
    }
  });
}
