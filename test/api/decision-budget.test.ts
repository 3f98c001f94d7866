import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { MAX_DECISION_STEPS, MAX_REQUEST_STEPS } from "../../src/kernel/limits.ts";
import { addUser, apiKeyParams, type Client, generateApiKey, type Json } from "../support/client.ts";
import { heavyCondition } from "../support/heavy-policies.ts";
import { engines, startTestServer, type TestServer } from "../support/server.ts";
import { createWorld, type World } from "../support/world.ts";

/**
 * What a request that is valid and meant to be costly costs everybody else: how often they have their turn meanwhile, counted and
 * not timed. The server is in this process, and has one event loop with the test.
 */

/** Turns of the event loop while something is done. */
async function turnsDuring<T>(work: () => Promise<T>): Promise<{ turns: number; value: T }> {
  let turns = 0;
  let isDone = false;
  const count = () => {
    turns++;
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  try {
    return { value: await work(), turns };
  } finally {
    isDone = true;
  }
}

/** A consensus whose approvers are compared with one another, so that every set of users has to be tried. */
const hard = (index: number) =>
  `approvers.all(u, approvers.any(v, v.id != u.id && v.alias != u.alias)) && approvers.count() == ${60 + (index % 30)}`;

const parameters = (signWith: string) => ({
  signWith,
  payload: "00",
  encoding: "PAYLOAD_ENCODING_HEXADECIMAL",
  hashFunction: "HASH_FUNCTION_SHA256",
});
const SIGN = "ACTIVITY_TYPE_SIGN_RAW_PAYLOAD_V2";

for (const engine of engines) {
  describe(`work for decisions (${engine})`, () => {
    let server: TestServer;
    before(async () => {
      server = await startTestServer(engine);
    });
    after(() => server.close());

    const privateKey = async (root: Client): Promise<string> => {
      const key = { privateKeyName: "key", curve: "CURVE_SECP256K1", privateKeyTags: [], addressFormats: [] };
      const { privateKeys } = await root.result("create_private_keys", { privateKeys: [key] });
      return privateKeys[0].privateKeyId;
    };
    const createPolicies = (root: Client, count: number, make: (index: number) => object) =>
      root.result("create_policies", {
        policies: Array.from({ length: count }, (_, index) => ({
          policyName: `policy ${index}`,
          effect: "EFFECT_ALLOW",
          notes: "",
          ...make(index),
        })),
      });
    const manyUsers = async (root: Client, count: number): Promise<string[]> => {
      const users = Array.from({ length: count }, (_, index) => ({
        userName: `user ${index}`,
        userTags: [],
        apiKeys: [apiKeyParams(generateApiKey())],
        authenticators: [],
        oauthProviders: [],
      }));
      return (await root.result("create_users", { users })).userIds;
    };

    it("simulating 97 approvals under 100 hard policies is refused with a remedy, and leaves others their turns", async () => {
      const { root, user } = await createWorld(server);
      const userIds = await manyUsers(root.client, 97);
      const signWith = await privateKey(root.client);
      // One that can be met keeps the simulation going from approval to approval.
      await createPolicies(root.client, 100, (index) => ({
        consensus: index === 0 ? "approvers.count() >= 97" : hard(index),
      }));
      const activity = { type: SIGN, parameters: parameters(signWith) };
      let answered = 0;
      const bystander = (async () => {
        for (let index = 0; index < 3; index++) {
          await user.client.read("whoami");
          answered++;
        }
      })();
      const { turns, value } = await turnsDuring(() => root.client.query("simulate_policy", { activity, userIds }));
      assert.equal(value.status, 400, JSON.stringify(value.body).slice(0, 300));
      assert.match(value.body.message, /policies takes too much work for one request; use fewer or simpler/);
      assert.equal(value.body.turnkeyErrorCode, "REQUEST_INVALID");
      const most = MAX_DECISION_STEPS + 200_000;
      assert.ok(turns >= MAX_REQUEST_STEPS / most, `${turns} turns`);
      await bystander;
      assert.equal(answered, 3);
      const alone = await root.client.read("simulate_policy", { activity, userIds: [root.userId] });
      assert.equal(alone.outcome, "ALLOW", "the root quorum is asked no policy");
    });

    it("a draft that takes too much is refused as a stored policy is", async () => {
      const { root, user } = await createWorld(server);
      const userIds = await manyUsers(root.client, 97);
      const signWith = await privateKey(root.client);
      const { policyIds } = await createPolicies(root.client, 100, (index) => ({ consensus: hard(index) }));
      const activity = { type: SIGN, parameters: parameters(signWith) };
      const stored = await root.client.read("simulate_policy", { activity, userIds });
      assert.equal(stored.outcome, "DENY", "the first approval is denied, and nobody is asked for the others");
      // In the place of the first, it keeps the simulation going from approval to approval.
      const draftPolicy = { policyId: policyIds[0], effect: "EFFECT_ALLOW", consensus: "approvers.count() >= 97" };
      const { status, body } = await root.client.query("simulate_policy", { activity, userIds, draftPolicy });
      assert.equal(status, 400, JSON.stringify(body).slice(0, 300));
      assert.match(body.message, /policies takes too much work for one request/);
      assert.equal((await user.client.query("whoami")).status, 200);
    });

    /** Someone whose request 100 policies of the most ordinary kind of trouble are asked about. */
    async function heavyWorld(count: number): Promise<World & { signWith: string }> {
      const world = await createWorld(server);
      const signWith = await privateKey(world.root.client);
      await createPolicies(world.root.client, count, (index) => ({
        condition: heavyCondition,
        consensus: `approvers.any(u, u.id == '${world.user.userId}') && approvers.count() >= 2 && ${index} >= 0`,
      }));
      return { ...world, signWith };
    }

    it("a submission that takes too much is refused, and nothing is stored", async () => {
      const { root, user, signWith } = await heavyWorld(20);
      const before = (await root.client.read("list_activities")).activities.map(({ id }: Json) => id);
      const answer = await user.client.submit("sign_raw_payload", parameters(signWith));
      assert.equal(answer.status, 400, JSON.stringify(answer.body));
      assert.match(answer.body.message, /too much work/);
      const afterwards = (await root.client.read("list_activities")).activities.map(({ id }: Json) => id);
      assert.deepEqual(afterwards, before);
      const byRoot = await root.client.submit("sign_raw_payload", parameters(signWith));
      assert.equal(byRoot.body.activity?.status, "ACTIVITY_STATUS_COMPLETED", "the root quorum can always act");
    });

    it("a page of open activities comes whole, and says for which of them it could not be told who may vote", async () => {
      const { root, user, signWith } = await heavyWorld(4);
      const other = await addUser(root.client, "Other");
      const ids: string[] = [];
      for (let index = 0; index < 60; index++) {
        const { activity } = (await user.client.submit("sign_raw_payload", parameters(signWith))).body;
        assert.equal(activity?.status, "ACTIVITY_STATUS_CONSENSUS_NEEDED");
        ids.push(activity.id);
      }
      const { turns, value } = await turnsDuring(() =>
        other.client.read("list_activities", { paginationOptions: { limit: "100" } }),
      );
      const open = value.activities.filter(({ status }: Json) => status === "ACTIVITY_STATUS_CONSENSUS_NEEDED");
      assert.equal(open.length, ids.length);
      const [told, untold] = [false, true].map((isUntold) =>
        open.filter(({ votingRightsUnknown }: Json) => (votingRightsUnknown !== undefined) === isUntold),
      ) as [Json[], Json[]];
      assert.ok(told.length > 0 && untold.length > 0, `${told.length} told, ${untold.length} not`);
      for (const { canApprove } of told) assert.equal(canApprove, true);
      for (const { canApprove, canReject, votingRightsUnknown } of untold) {
        assert.deepEqual([canApprove, canReject], [false, false]);
        assert.match(votingRightsUnknown, /get_activity shows it/);
      }
      assert.ok(turns >= MAX_REQUEST_STEPS / (MAX_DECISION_STEPS + 200_000), `${turns} turns`);
      const { activity } = await other.client.read("get_activity", { activityId: untold[0].id });
      assert.deepEqual([activity.canApprove, activity.votingRightsUnknown], [true, undefined]);
    });

    it("a root quorum of two can change policies that take too much to ask", async () => {
      const { root, quorumOfTwo } = await heavyWorld(20);
      const second = await quorumOfTwo();
      const { policies } = await root.client.read("list_policies");
      const policyIds = policies.map(({ policyId }: Json) => policyId);
      const { activity } = (await root.client.submit("delete_policies", { policyIds })).body;
      assert.equal(activity?.status, "ACTIVITY_STATUS_CONSENSUS_NEEDED");
      await second.client.result("approve_activity", { fingerprint: activity.fingerprint });
      assert.deepEqual((await root.client.read("list_policies")).policies, []);
    });

    it("the expressions of all policies together are bounded, and a change that exceeds that changes nothing", async () => {
      const { root } = await createWorld(server);
      const long = `activity.action in ['SIGN'${", 'EXPORT_OR_NOT_TO'".repeat(800)}]`;
      assert.ok(long.length > 15_000 && long.length < 16_384);
      await createPolicies(root.client, 16, () => ({ condition: long }));
      const one = { policyName: "one more", effect: "EFFECT_ALLOW", notes: "", condition: long, consensus: "false" };
      const refused = await root.client.submit("create_policy", one);
      assert.equal(refused.status, 429);
      assert.match(refused.body.message, /at most 262144 characters in the expressions of its policies together/);
      const all = Array.from({ length: 17 }, (_, index) => ({ ...one, policyName: `again ${index}` }));
      assert.equal((await root.client.submit("create_policies", { policies: all })).status, 429);
      assert.equal((await root.client.read("list_policies")).policies.length, 16);
    });
  });
}
