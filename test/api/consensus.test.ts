import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { newId } from "../../src/kernel/ids.ts";
import { addUser, apiKeyParams, type Client, generateApiKey } from "../support/client.ts";
import { engines, startTestServer, type TestServer } from "../support/server.ts";

for (const engine of engines) {
  describe(`consensus of the root quorum (${engine})`, () => {
    let server: TestServer;
    let root: Client;
    let second: { userId: string; client: Client };
    let outsider: { userId: string; client: Client };
    before(async () => {
      server = await startTestServer(engine);
      root = server.root;
      second = await addUser(root, "Second");
      outsider = await addUser(root, "Outsider");
      const { userId } = await root.read("whoami");
      const quorum = { threshold: 2, userIds: [userId, second.userId] };
      assert.deepEqual(await root.result("update_root_quorum", quorum), {});
    });
    after(() => server.close());
    const rename = (organizationName: string) => root.submitBody("update_organization_name", { organizationName });
    const path = "/public/v1/submit/update_organization_name";
    const nameNow = async () => (await root.read("whoami")).organizationName;

    it("waits for the second vote and carries out on it", async () => {
      const body = rename("By approval");
      const { activity } = (await root.post(path, body)).body;
      assert.equal(activity.status, "ACTIVITY_STATUS_CONSENSUS_NEEDED");
      assert.deepEqual(activity.result, {});
      assert.deepEqual([activity.canApprove, activity.canReject], [false, true]);
      assert.notEqual(await nameNow(), "By approval");

      const seen = await second.client.read("get_activity", { activityId: activity.id });
      assert.deepEqual([seen.activity.canApprove, seen.activity.canReject], [true, true]);
      const bystander = await outsider.client.read("get_activity", { activityId: activity.id });
      assert.deepEqual([bystander.activity.canApprove, bystander.activity.canReject], [false, false]);

      const again = await root.post(path, body);
      assert.equal(again.body.activity.id, activity.id);
      assert.equal(again.body.activity.votes.length, 1);

      const approval = await second.client.submit("approve_activity", { fingerprint: activity.fingerprint });
      assert.equal(approval.body.activity.id, activity.id);
      assert.equal(approval.body.activity.type, "ACTIVITY_TYPE_UPDATE_ORGANIZATION_NAME");
      assert.equal(approval.body.activity.status, "ACTIVITY_STATUS_COMPLETED");
      assert.equal(approval.body.activity.votes.length, 2);
      assert.equal(approval.body.activity.votes[0].message, body);
      assert.equal(await nameNow(), "By approval");
    });

    it("knows who asked, although another server's clock is behind and gives a vote an older id", async () => {
      const { activity } = (await root.post(path, rename("Whose request"))).body;
      await second.client.submit("approve_activity", { fingerprint: activity.fingerprint });
      const { organizationId } = root;
      await server.opened.database.transact(organizationId, (tx) =>
        tx
          .updateTable("votes")
          .set({ id: "00000000-0000-7000-8000-000000000000" })
          .where("organization_id", "=", organizationId)
          .where("activity_id", "=", activity.id)
          .where("user_id", "=", second.userId)
          .execute(),
      );
      const { votes } = (await root.read("get_activity", { activityId: activity.id })).activity;
      const { userId } = await root.read("whoami");
      assert.deepEqual(
        votes.map((vote: { userId: string }) => vote.userId),
        [userId, second.userId],
      );
    });

    it("takes the same body from another member as a vote", async () => {
      const body = rename("By the same body");
      const first = await root.post(path, body);
      assert.equal(first.body.activity.status, "ACTIVITY_STATUS_CONSENSUS_NEEDED");
      const vote = await second.client.post(path, body);
      assert.equal(vote.body.activity.id, first.body.activity.id);
      assert.equal(vote.body.activity.status, "ACTIVITY_STATUS_COMPLETED");
      assert.equal(await nameNow(), "By the same body");
    });

    it("carries nothing out again when the same body comes from others once it is decided", async () => {
      const body = rename("Once");
      const { activity } = (await root.post(path, body)).body;
      const { fingerprint } = activity;
      await second.client.submit("approve_activity", { fingerprint });
      const next = (await root.post(path, rename("Next"))).body.activity;
      await second.client.submit("approve_activity", { fingerprint: next.fingerprint });
      for (const { client } of [second, outsider, { client: root }]) {
        const again = (await client.post(path, body)).body.activity;
        assert.deepEqual([again.id, again.status], [activity.id, "ACTIVITY_STATUS_COMPLETED"]);
        assert.equal(again.votes.length, 2);
      }
      assert.equal(await nameNow(), "Next");
    });

    it("is not asked again when the body comes again of what was denied, rejected or failed", async () => {
      const name = await nameNow();
      const denied = outsider.client.submitBody("update_organization_name", { organizationName: "Denied" });
      for (const client of [outsider.client, outsider.client, root, second.client]) {
        assert.equal((await client.post(path, denied)).status, 403, "also from those who could allow it");
      }
      const [{ fingerprint }] = (await root.read("list_activities")).activities;
      const late = await root.submit("approve_activity", { fingerprint });
      assert.match(late.body.message, /can no longer be voted on/);

      const rejected = rename("Rejected");
      const asked = (await root.post(path, rejected)).body.activity;
      await second.client.submit("reject_activity", { fingerprint: asked.fingerprint });
      for (const client of [root, second.client]) {
        assert.equal((await client.post(path, rejected)).body.activity.status, "ACTIVITY_STATUS_REJECTED");
      }
      const nobody = root.submitBody("update_user_name", { userId: newId(), userName: "Nobody" });
      for (const { client } of [{ client: root }, second, second]) {
        const { activity } = (await client.post("/public/v1/submit/update_user_name", nobody)).body;
        assert.equal(activity.status, client === root ? "ACTIVITY_STATUS_CONSENSUS_NEEDED" : "ACTIVITY_STATUS_FAILED");
      }
      assert.equal(await nameNow(), name);
    });

    it("asks the signer when the last vote is there", async () => {
      const key = { privateKeyName: "k", curve: "CURVE_ED25519", privateKeyTags: [], addressFormats: [] };
      const first = await root.submit("create_private_keys", { privateKeys: [key] });
      assert.equal(first.body.activity.status, "ACTIVITY_STATUS_CONSENSUS_NEEDED");
      const { fingerprint } = first.body.activity;
      const { activity } = (await second.client.submit("approve_activity", { fingerprint })).body;
      assert.equal(activity.status, "ACTIVITY_STATUS_COMPLETED");
      const [{ privateKeyId }] = activity.result.createPrivateKeysResultV2.privateKeys;
      assert.equal((await root.read("get_private_key", { privateKeyId })).privateKey.privateKeyName, "k");
    });

    it("ends with a rejection, after which no vote counts", async () => {
      const { activity } = (await root.post(path, rename("Never"))).body;
      const { fingerprint } = activity;
      const rejection = await second.client.submit("reject_activity", { fingerprint });
      assert.equal(rejection.body.activity.status, "ACTIVITY_STATUS_REJECTED");
      const late = await root.submit("approve_activity", { fingerprint });
      assert.equal(late.status, 400);
      assert.match(late.body.message, /can no longer be voted on/);
      assert.notEqual(await nameNow(), "Never");
    });

    it("answers the activity to a vote that is sent again", async () => {
      for (const [vote, status] of [
        ["approve_activity", "ACTIVITY_STATUS_COMPLETED"],
        ["reject_activity", "ACTIVITY_STATUS_REJECTED"],
      ] as const) {
        const { fingerprint } = (await root.post(path, rename(`Again ${vote}`))).body.activity;
        const body = second.client.submitBody(vote, { fingerprint });
        for (let sent = 1; sent <= 2; sent++) {
          const { activity } = (await second.client.post(`/public/v1/submit/${vote}`, body)).body;
          assert.equal(activity?.status, status, `${vote}, time ${sent}`);
          assert.equal(activity.votes.length, 2);
        }
      }
    });

    it("does not count those outside the quorum", async () => {
      const { activity } = (await root.post(path, rename("Outsiders"))).body;
      const { fingerprint } = activity;
      for (const vote of ["approve_activity", "reject_activity"]) {
        const answer = await outsider.client.submit(vote, { fingerprint });
        assert.equal(answer.status, 403, vote);
      }
      const { activity: still } = await root.read("get_activity", { activityId: activity.id });
      assert.equal(still.status, "ACTIVITY_STATUS_CONSENSUS_NEEDED");
      assert.equal(still.votes.length, 1);
    });

    it("marks as failed what cannot be carried out on the last vote", async () => {
      const userId = newId();
      const first = await root.submit("update_user_name", { userId, userName: "Nobody" });
      const { fingerprint } = first.body.activity;
      const { activity } = (await second.client.submit("approve_activity", { fingerprint })).body;
      assert.equal(activity.status, "ACTIVITY_STATUS_FAILED");
      assert.equal(activity.failure.code, 5);
      assert.match(activity.failure.message, new RegExp(`unable to find user ${userId}`));
    });

    it("marks as failed what the signer cannot be asked for on the last vote", async () => {
      const first = await root.submit("sign_raw_payload", {
        signWith: newId(),
        payload: "00",
        encoding: "PAYLOAD_ENCODING_HEXADECIMAL",
        hashFunction: "HASH_FUNCTION_SHA256",
      });
      assert.equal(first.body.activity?.status, "ACTIVITY_STATUS_CONSENSUS_NEEDED", first.body.message);
      const { fingerprint, id } = first.body.activity;
      const { activity } = (await second.client.submit("approve_activity", { fingerprint })).body;
      assert.equal(activity?.status, "ACTIVITY_STATUS_FAILED");
      assert.match(activity.failure.message, /Could not find any resource to sign with/);
      const { activity: stored } = await root.read("get_activity", { activityId: id });
      assert.deepEqual([stored.status, stored.votes.length], ["ACTIVITY_STATUS_FAILED", 2]);
    });

    it("of an unknown fingerprint is not found", async () => {
      const answer = await root.submit("approve_activity", { fingerprint: `sha256:${"0".repeat(64)}` });
      assert.equal(answer.status, 404);
      assert.match(answer.body.message, /^No activity found with fingerprint/);
    });

    it("leaves users their own credentials", async () => {
      const { userId, client } = outsider;
      const { apiKeyIds } = await client.result("create_api_keys", {
        userId,
        apiKeys: [apiKeyParams(generateApiKey())],
      });
      await client.result("delete_api_keys", { userId, apiKeyIds });
    });

    it("refuses a quorum that nobody could meet", async () => {
      const { userId } = await root.read("whoami");
      const cases: [object, RegExp][] = [
        [{ threshold: 0, userIds: [userId] }, /quorum threshold must be non-zero integer/],
        [{ threshold: 2, userIds: [userId] }, /quorum users missing/],
        [{ threshold: 1, userIds: [userId, userId] }, /names a user twice/],
        [{ threshold: 1, userIds: [] }, /must have at least 1 entry/],
      ];
      for (const [quorum, message] of cases) {
        const answer = await root.submit("update_root_quorum", quorum);
        assert.equal(answer.status, 400);
        assert.match(answer.body.message, message);
      }
    });

    it("keeps its members from being deleted", async () => {
      const first = await root.submit("delete_users", { userIds: [second.userId] });
      const { fingerprint } = first.body.activity;
      const { activity } = (await second.client.submit("approve_activity", { fingerprint })).body;
      assert.equal(activity.status, "ACTIVITY_STATUS_FAILED");
      assert.match(activity.failure.message, /a member of the root quorum/);
    });
  });
}
