import assert from "node:assert/strict";
import { it } from "node:test";
import { newId } from "../../src/kernel/ids.ts";
import { MAX_FURTHER_STAMPS } from "../../src/kernel/limits.ts";
import { createAuthenticator } from "../support/authenticator.ts";
import {
  addUser,
  apiKeyParams,
  authenticatorParams,
  type Client,
  generateApiKey,
  type Json,
} from "../support/client.ts";
import { onEachEngine } from "../support/server.ts";
import { createWorld, type World } from "../support/world.ts";

const site = { origin: "https://wallet.example", rpId: "wallet.example" };
const NEEDED = "ACTIVITY_STATUS_AUTHENTICATORS_NEEDED";
const CONSENSUS = "ACTIVITY_STATUS_CONSENSUS_NEEDED";
const COMPLETED = "ACTIVITY_STATUS_COMPLETED";

const passkeyToo = [{ any: [{ type: "AUTHENTICATION_TYPE_PASSKEY" }] }];
const always = { mfaPolicyName: "Always", condition: "true", requiredAuthenticationMethods: passkeyToo, order: 1 };

/** Registers a passkey for a user; resolves to a client that stamps with it. */
async function addPasskey(root: Client, { userId, client }: { userId: string; client: Client }) {
  const passkey = { authenticator: createAuthenticator(), ...site };
  const authenticators = [authenticatorParams(passkey)];
  const { authenticatorIds } = await root.result("create_authenticators", { userId, authenticators });
  return { client: client.withPasskey(passkey), authenticatorId: authenticatorIds[0] as string };
}

const rename = (client: Client, organizationName = `Name ${newId()}`) =>
  client.submit("update_organization_name", { organizationName });
const approve = (client: Client, activity: Json) =>
  client.submit("approve_activity", { fingerprint: activity.fingerprint });
const reject = (client: Client, activity: Json) =>
  client.submit("reject_activity", { fingerprint: activity.fingerprint });

onEachEngine("MFA policies", (server) => {
  const newWorld = () => createWorld(server());
  const statusOf = async (client: Client, activity: Json, more: object = {}) =>
    (await client.read("get_mfa_status", { activityId: activity.id, ...more })).mfaStatuses;

  /** A world whose root user must show a passkey for everything. */
  async function guardedWorld(policy: object = {}): Promise<World & { passkey: Client; mfaPolicyId: string }> {
    const world = await newWorld();
    const { client, authenticatorId } = await addPasskey(world.root.client, world.root);
    const { mfaPolicyId } = await world.root.client.result("create_mfa_policy", {
      userId: world.root.userId,
      ...always,
      ...policy,
    });
    assert.ok(authenticatorId);
    return { ...world, passkey: client, mfaPolicyId };
  }

  it("take a credential of its own for each group, whichever order they are shown in", async () => {
    const { root } = await newWorld();
    const [second, third] = [generateApiKey(), generateApiKey()];
    const { apiKeyIds } = await root.client.result("create_api_keys", {
      userId: root.userId,
      apiKeys: [apiKeyParams(second), apiKeyParams(third)],
    });
    const { mfaPolicyId } = await root.client.result("create_mfa_policy", {
      userId: root.userId,
      ...always,
      condition: "activity.resource == 'ORGANIZATION'",
      requiredAuthenticationMethods: [
        { any: [{ type: "AUTHENTICATION_TYPE_API_KEY" }] },
        { any: [{ type: "AUTHENTICATION_TYPE_API_KEY", id: apiKeyIds[0] }, { type: "AUTHENTICATION_TYPE_PASSKEY" }] },
      ],
    });
    const one = (await rename(root.client.with({ key: second }))).body.activity;
    assert.equal(one.status, NEEDED, "the second key meets one group, whichever it is");
    const [standing] = await statusOf(root.client, one);
    assert.deepEqual([standing.mfaPolicyId, standing.satisfied], [mfaPolicyId, false]);
    const done = await approve(root.client.with({ key: third }), one);
    assert.equal(done.body.activity.status, COMPLETED, "the third takes the group that the second leaves to it");
    const other = (await rename(root.client)).body.activity;
    assert.equal((await approve(root.client.with({ key: third }), other)).body.activity.status, NEEDED);
    assert.equal((await approve(root.client.with({ key: second }), other)).body.activity.status, COMPLETED);
  });

  it("hold an activity until the further credential approves it", async () => {
    const { root, passkey, mfaPolicyId } = await guardedWorld();
    const { status, body } = await rename(root.client, "Guarded");
    assert.equal(status, 200);
    const { activity } = body;
    assert.equal(activity.status, NEEDED);
    assert.deepEqual(activity.result, {});
    assert.deepEqual([activity.canApprove, activity.canReject], [true, true]);
    assert.notEqual((await root.client.read("whoami")).organizationName, "Guarded");
    const standing = { mfaPolicyId, userId: root.userId, satisfied: false, satisfiedMethods: [] };
    assert.deepEqual(await statusOf(root.client, activity), [{ ...standing, requiredMethods: passkeyToo }]);
    const { policyEvaluations } = await root.client.read("get_policy_evaluations", { activityId: activity.id });
    assert.deepEqual(policyEvaluations[0].policyEvaluations, [
      { policyId: mfaPolicyId, outcome: "OUTCOME_REQUIRES_AUTHENTICATORS" },
    ]);

    const again = await approve(root.client, activity);
    assert.equal(again.body.activity.status, NEEDED, "the same credential proves nothing new");
    const done = await approve(passkey, activity);
    assert.equal(done.body.activity.status, COMPLETED);
    assert.equal(done.body.activity.id, activity.id);
    assert.equal(done.body.activity.votes.length, 1);
    assert.equal((await root.client.read("whoami")).organizationName, "Guarded");
    const [met] = await statusOf(root.client, activity);
    assert.equal(met.satisfied, true);
    assert.deepEqual(
      met.satisfiedMethods.map(({ type }: Json) => type),
      ["AUTHENTICATION_TYPE_PASSKEY"],
    );
  });

  it("are met at once by the credential that they ask for", async () => {
    const { passkey } = await guardedWorld();
    assert.equal((await rename(passkey)).body.activity.status, COMPLETED);
  });

  it("apply where their condition holds, and where it cannot be evaluated", async () => {
    const { root } = await guardedWorld({ condition: "activity.action == 'DELETE'" });
    assert.equal((await rename(root.client)).body.activity.status, COMPLETED);
    const leaving = await addUser(root.client);
    const deletion = await root.client.submit("delete_users", { userIds: [leaving.userId] });
    assert.equal(deletion.body.activity.status, NEEDED);

    const unclear = await guardedWorld({ condition: "eth.tx.value > 1" });
    assert.equal((await rename(unclear.root.client)).body.activity.status, NEEDED);
  });

  it("apply one at a time: the lowest order whose condition holds", async () => {
    const { root } = await guardedWorld({ order: 5 });
    const exempt = { mfaPolicyName: "Names are free", requiredAuthenticationMethods: [], order: 3 };
    // The change itself takes the passkey; without it nothing is exempt.
    const asked = await root.client.submit("create_mfa_policy", {
      userId: root.userId,
      ...exempt,
      condition: "activity.kind == 'UPDATE_ORGANIZATION_NAME'",
    });
    assert.equal(asked.body.activity.status, NEEDED);
    assert.equal((await rename(root.client)).body.activity.status, NEEDED);
  });

  it("with an empty list of a lower order exempt from those of a higher", async () => {
    const { root, passkey } = await guardedWorld({ order: 5 });
    const exempt = { mfaPolicyName: "Tags are free", requiredAuthenticationMethods: [], order: 3 };
    const condition = "activity.kind == 'CREATE_USER_TAG'";
    const { activity } = (await passkey.submit("create_mfa_policy", { userId: root.userId, ...exempt, condition }))
      .body;
    assert.equal(activity.status, COMPLETED);
    const tag = await root.client.submit("create_user_tag", { userTagName: "free", userIds: [] });
    assert.equal(tag.body.activity.status, COMPLETED);
    assert.equal((await rename(root.client)).body.activity.status, NEEDED);
  });

  it("take every group, and of a group any; an id means that very credential", async () => {
    const world = await newWorld();
    const { root } = world;
    const one = await addPasskey(root.client, root);
    const two = await addPasskey(root.client, root);
    const methods = [
      {
        any: [
          { type: "AUTHENTICATION_TYPE_EMAIL_OTP" },
          { type: "AUTHENTICATION_TYPE_PASSKEY", id: two.authenticatorId },
        ],
      },
      { any: [{ type: "AUTHENTICATION_TYPE_API_KEY" }] },
    ];
    const policy = { userId: root.userId, ...always, requiredAuthenticationMethods: methods };
    await root.client.result("create_mfa_policy", policy);
    const { activity } = (await rename(one.client)).body;
    assert.equal(activity.status, NEEDED);
    assert.equal((await approve(root.client, activity)).body.activity.status, NEEDED);
    assert.deepEqual((await statusOf(root.client, activity))[0].requiredMethods, methods);
    assert.equal((await approve(two.client, activity)).body.activity.status, COMPLETED);
  });

  it("come before consensus for who proposes, and before the vote counts for who approves", async () => {
    const world = await newWorld();
    const { root } = world;
    const rootPasskey = await addPasskey(root.client, root);
    const second = await addUser(root.client, "Second");
    const secondPasskey = await addPasskey(root.client, second);
    for (const { userId } of [root, second])
      await root.client.result("create_mfa_policy", { userId, ...always }).catch(() => undefined);
    await rootPasskey.client.result("create_mfa_policy", { userId: second.userId, ...always });
    await rootPasskey.client.result("update_root_quorum", { threshold: 2, userIds: [root.userId, second.userId] });

    const { activity } = (await rename(root.client)).body;
    assert.equal(activity.status, NEEDED);
    const early = await approve(secondPasskey.client, activity);
    assert.equal(early.body.activity.status, NEEDED, "the proposer comes first");
    assert.equal((await approve(rootPasskey.client, activity)).body.activity.status, COMPLETED);

    const { activity: next } = (await rename(rootPasskey.client)).body;
    assert.equal(next.status, CONSENSUS);
    const vote = await approve(second.client, next);
    assert.equal(vote.body.activity.status, NEEDED, "all votes are there, but not all credentials");
    assert.equal(vote.body.activity.votes.length, 2);
    assert.equal((await approve(secondPasskey.client, next)).body.activity.status, COMPLETED);
  });

  it("are met by what a user shows for themselves, whether or not others who approve have any", async () => {
    const { root } = await newWorld();
    const [guarded, free] = [await addUser(root.client, "Guarded"), await addUser(root.client, "Free")];
    const { client: passkey } = await addPasskey(root.client, root);
    for (const { userId } of [guarded, root]) await root.client.result("create_mfa_policy", { userId, ...always });
    const userIds = [root, guarded, free].map(({ userId }) => userId);
    await passkey.result("update_root_quorum", { threshold: 2, userIds });
    const shownByRoot = async () => {
      const { activity } = (await rename(root.client)).body;
      assert.equal((await approve(passkey, activity)).body.activity.status, CONSENSUS);
      return activity;
    };
    assert.equal((await approve(guarded.client, await shownByRoot())).body.activity.status, NEEDED);
    assert.equal((await approve(free.client, await shownByRoot())).body.activity.status, COMPLETED);
  });

  it("let the activity be rejected, and deny at once what would be denied anyway", async () => {
    const { root } = await guardedWorld();
    const { activity } = (await rename(root.client)).body;
    assert.equal((await reject(root.client, activity)).body.activity.status, "ACTIVITY_STATUS_REJECTED");

    const world = await newWorld();
    await addPasskey(world.root.client, world.user);
    await world.root.client.result("create_mfa_policy", { userId: world.user.userId, ...always });
    const { status, body } = await rename(world.user.client);
    assert.equal(status, 403, JSON.stringify(body));
  });

  it("guard what users may do to themselves", async () => {
    const { root, user } = await newWorld();
    const { client: passkey } = await addPasskey(root.client, user);
    await root.client.result("create_mfa_policy", { userId: user.userId, ...always });
    const { apiKeys } = await root.client.read("get_api_keys", { userId: user.userId });
    const apiKeyIds = [apiKeys[0].apiKeyId];
    const { activity } = (await user.client.submit("delete_api_keys", { userId: user.userId, apiKeyIds })).body;
    assert.equal(activity.status, NEEDED);
    assert.equal((await approve(passkey, activity)).body.activity.status, COMPLETED);
    assert.equal((await user.client.query("whoami")).status, 401);
  });

  it("are met by a credential only as long as the user has it", async () => {
    const { root, user } = await newWorld();
    const one = await addPasskey(root.client, user);
    await root.client.result("create_policy", {
      policyName: `Tags ${newId()}`,
      effect: "EFFECT_ALLOW",
      condition: "activity.kind == 'CREATE_USER_TAG'",
      consensus: `approvers.any(u, u.id == '${user.userId}') && approvers.any(u, u.id == '${root.userId}')`,
      notes: "",
    });
    await root.client.result("create_mfa_policy", { userId: user.userId, ...always });
    const { activity } = (await one.client.submit("create_user_tag", { userTagName: "t", userIds: [] })).body;
    assert.equal(activity.status, CONSENSUS);
    const authenticatorIds = [one.authenticatorId];
    await root.client.result("delete_authenticators", { userId: user.userId, authenticatorIds });
    const other = await addUser(root.client, "Other member");
    await root.client.result("update_root_quorum", { threshold: 2, userIds: [root.userId, other.userId] });
    const approved = await approve(root.client, activity);
    assert.equal(approved.body.activity.status, NEEDED);
  });

  it("leave an activity that waits for them to those whose vote counts", async () => {
    const { root, user } = await guardedWorld();
    const { activity } = (await rename(root.client)).body;
    const seen = (await user.client.read("get_activity", { activityId: activity.id })).activity;
    assert.deepEqual([seen.canApprove, seen.canReject], [false, false]);
    for (const vote of [approve, reject]) assert.equal((await vote(user.client, activity)).status, 403);

    const other = await newWorld();
    const signer = other.user;
    const stranger = await addUser(other.root.client, "Stranger");
    await other.root.client.result("create_policy", {
      policyName: "Signer's tags",
      effect: "EFFECT_ALLOW",
      condition: "activity.kind == 'CREATE_USER_TAG'",
      consensus: `approvers.any(u, u.id == '${signer.userId}')`,
      notes: "",
    });
    await addPasskey(other.root.client, signer);
    await other.root.client.result("create_mfa_policy", { userId: signer.userId, ...always });
    const asked = await signer.client.submit("create_user_tag", { userTagName: "Held", userIds: [] });
    const held = asked.body.activity;
    assert.equal(held.status, NEEDED);
    const shown = (await stranger.client.read("get_activity", { activityId: held.id })).activity;
    assert.deepEqual([shown.canApprove, shown.canReject], [false, false], "the policy does not ask for them");
    for (const vote of [approve, reject]) assert.equal((await vote(stranger.client, held)).status, 403);
  });

  it("cannot be got around with one credential", async () => {
    const { root, passkey, mfaPolicyId } = await guardedWorld();
    const { userId, client } = root;
    const other = generateApiKey();
    const mine = [apiKeyParams(other)];
    const attempts: [string, object][] = [
      ["delete_mfa_policy", { userId, mfaPolicyId }],
      ["update_mfa_policy", { userId, mfaPolicyId, condition: "false" }],
      ["update_mfa_policy", { userId, mfaPolicyId, requiredAuthenticationMethods: [] }],
      ["create_mfa_policy", { userId, ...always, requiredAuthenticationMethods: [], order: 0 }],
      ["create_api_keys", { userId, apiKeys: mine }],
      ["delete_users", { userIds: [userId] }],
      ["update_root_quorum", { threshold: 1, userIds: [userId] }],
    ];
    for (const [path, parameters] of attempts) {
      const { activity } = (await client.submit(path, parameters)).body;
      assert.equal(activity.status, NEEDED, path);
    }
    const body = client.submitBody("update_organization_name", { organizationName: "Around" });
    const path = "/public/v1/submit/update_organization_name";
    assert.equal((await client.post(path, body)).body.activity.status, NEEDED);
    const resubmitted = await passkey.post(path, body);
    assert.equal(resubmitted.body.activity.status, NEEDED, "the same body from the same user is no vote");
    const { mfaPolicies } = await client.read("get_mfa_policies", { userId });
    assert.equal(mfaPolicies.length, 1);
  });

  it("are met once however many credentials come at the same time", async () => {
    const { root, passkey } = await guardedWorld();
    const asked = await root.client.submit("create_user_tag", { userTagName: "once", userIds: [] });
    const { activity } = asked.body;
    const answers = await Promise.all(
      [passkey, root.client, passkey, root.client, passkey].map((client) => approve(client, activity)),
    );
    for (const { status, body } of answers) assert.ok(status === 200 || /COMPLETED/.test(body.message), body.message);
    const { userTags } = await root.client.read("list_user_tags");
    assert.equal(userTags.length, 1);
    const { policyEvaluations } = await root.client.read("get_policy_evaluations", { activityId: activity.id });
    assert.equal(policyEvaluations.length, 1, "only the submission was short of something");
  });

  it("have so many stamps of a user kept, however many credentials are made, shown and deleted", async () => {
    const { root, passkey } = await guardedWorld();
    const { activity } = (await rename(root.client)).body;
    const { userId } = root;
    for (let shown = 0; shown <= MAX_FURTHER_STAMPS; ) {
      const keys = Array.from({ length: 9 }, generateApiKey);
      const apiKeys = keys.map((key) => apiKeyParams(key));
      const { apiKeyIds } = await passkey.result("create_api_keys", { userId, apiKeys });
      for (const key of keys) {
        const { body } = await approve(root.client.with({ key }), activity);
        assert.equal(body.activity.status, NEEDED, JSON.stringify(body));
        shown++;
      }
      await passkey.result("delete_api_keys", { userId, apiKeyIds });
    }
    const { read } = server().opened.database;
    const kept = await read.selectFrom("authentications").select("id").where("activity_id", "=", activity.id).execute();
    assert.equal(kept.length, MAX_FURTHER_STAMPS);
    assert.equal((await approve(passkey, activity)).body.activity.status, COMPLETED);
  });

  it("take no passkey from where passkeys may not be used any more", async () => {
    const { root, passkey } = await guardedWorld();
    const { activity } = (await rename(root.client)).body;
    const feature = { name: "FEATURE_NAME_WEBAUTHN_ORIGINS", value: "https://other.example" };
    await passkey.result("set_organization_feature", feature);
    const { status, body } = await approve(passkey, activity);
    assert.equal(status, 401);
    assert.match(body.message, /origin/);
  });

  it("show in the user, and are changed and deleted", async () => {
    const { root, user } = await newWorld();
    const { userId } = user;
    const { mfaPolicyId } = await root.client.result("create_mfa_policy", { userId, ...always, notes: "n" });
    const { mfaPolicy } = await root.client.read("get_mfa_policy", { userId, mfaPolicyId });
    const { createdAt, updatedAt, ...shown } = mfaPolicy;
    assert.deepEqual(createdAt, updatedAt);
    assert.deepEqual(shown, { mfaPolicyId, ...always, notes: "n" });
    assert.deepEqual((await root.client.read("get_user", { userId })).user.mfaPolicies, [mfaPolicy]);
    await root.client.result("update_mfa_policy", {
      userId,
      mfaPolicyId,
      order: 7,
      condition: "activity.action == 'SIGN'",
    });
    const [changed] = (await root.client.read("get_mfa_policies", { userId })).mfaPolicies;
    assert.deepEqual([changed.order, changed.condition, changed.notes], [7, "activity.action == 'SIGN'", "n"]);
    const refusal = await root.client.submit(
      "delete_mfa_policy",
      { userId, mfaPolicyId },
      { more: { generateAppProofs: true } },
    );
    assert.equal(refusal.status, 400);
    assert.match(refusal.body.message, /generateAppProofs/);
    const deletion = { more: { generateAppProofs: false } };
    assert.deepEqual(await root.client.result("delete_mfa_policy", { userId, mfaPolicyId }, deletion), { mfaPolicyId });
    assert.deepEqual((await root.client.read("get_mfa_policies", { userId })).mfaPolicies, []);
    assert.equal((await root.client.submit("delete_mfa_policy", { userId, mfaPolicyId })).status, 404);
  });

  it("refuse conditions and credentials that cannot be", async () => {
    const { root, user } = await newWorld();
    const { userId } = user;
    const refusals: [object, RegExp][] = [
      [{ condition: "activity.colour == 'red'" }, /invalid policy condition: .*field does not exist/],
      [{ condition: "1 +" }, /invalid policy condition/],
      [{ requiredAuthenticationMethods: [{ any: [] }] }, /requiredAuthenticationMethods\.0\.any/],
      [{ order: -1 }, /`parameters.order`/],
      [
        { requiredAuthenticationMethods: [{ any: [{ type: "AUTHENTICATION_TYPE_PASSKEY", id: newId() }] }] },
        /any\.0\.id` must be the id of a credential of this type/,
      ],
      [
        { requiredAuthenticationMethods: [{ any: [{ type: "AUTHENTICATION_TYPE_SESSION", id: newId() }] }] },
        /must be the id of a session profile/,
      ],
      [
        { requiredAuthenticationMethods: [{ any: [{ type: "AUTHENTICATION_TYPE_SMS_OTP", id: newId() }] }] },
        /must be absent/,
      ],
    ];
    for (const [change, message] of refusals) {
      const { status, body } = await root.client.submit("create_mfa_policy", { userId, ...always, ...change });
      assert.equal(status, 400, JSON.stringify(body));
      assert.match(body.message, message);
    }
    assert.equal((await root.client.submit("create_mfa_policy", { ...always, userId: newId() })).status, 404);
    assert.equal((await root.client.query("get_mfa_policy", { userId, mfaPolicyId: newId() })).status, 404);
    assert.equal((await root.client.query("get_mfa_status", { activityId: newId() })).status, 404);
  });
});

onEachEngine("session profiles", (server) => {
  const signing = { sessionProfileName: "Signing", scope: "activity.action == 'SIGN'", expirationSeconds: "60" };

  /** Makes the root user's key one of a session with this profile, as a sign-in would. */
  async function makeSession({ server, organizationId }: World, key: Client["key"], profileId: string): Promise<void> {
    await server.opened.database.transact(organizationId, (tx) =>
      tx
        .updateTable("api_keys")
        .set({ credential_type: "CREDENTIAL_TYPE_LOGIN", session_profile_id: profileId })
        .where("organization_id", "=", organizationId)
        .where("public_key", "=", key.publicKey)
        .execute(),
    );
  }

  it("belong to the parent, are seen below it, and do not change", async () => {
    const world = await createWorld(server(), "subOrganizations");
    const parent = (world.parent as World["root"]).client;
    const { sessionProfileId } = await parent.result("create_session_profile", { ...signing, notes: "n" });
    const { sessionProfile } = await parent.read("get_session_profile", { sessionProfileId });
    const { createdAt, updatedAt, ...shown } = sessionProfile;
    assert.deepEqual(createdAt, updatedAt);
    assert.deepEqual(shown, { sessionProfileId, ...signing, notes: "n" });
    assert.deepEqual(await parent.read("get_session_profiles"), { sessionProfiles: [sessionProfile] });
    const sub = world.root.client;
    assert.deepEqual(await sub.read("get_session_profile", { sessionProfileId }), { sessionProfile });
    assert.deepEqual(await sub.read("get_session_profiles"), { sessionProfiles: [sessionProfile] });
    const below = await sub.submit("create_session_profile", signing);
    assert.equal(below.body.turnkeyErrorCode, "INVALID_ACTIVITY_CALLER");
    const twice = await parent.submit("create_session_profile", signing);
    assert.equal(twice.status, 409);
    const broken = await parent.submit("create_session_profile", { ...signing, scope: "activity.colour" });
    assert.match(broken.body.message, /invalid policy condition/);
    const stranger = (await createWorld(server())).root.client;
    assert.equal((await stranger.query("get_session_profile", { sessionProfileId })).status, 404);
  });

  it("limit what a session does, whatever its user may", async () => {
    const world = await createWorld(server(), "subOrganizations");
    const parent = (world.parent as World["root"]).client;
    const { client } = world.root;
    const key = { privateKeyName: "k", curve: "CURVE_P256", privateKeyTags: [], addressFormats: [] };
    const { privateKeys } = await client.result("create_private_keys", { privateKeys: [key] });
    const { sessionProfileId } = await parent.result("create_session_profile", signing);
    await makeSession(world, client.key, sessionProfileId);

    const payload = { payload: "00", encoding: "PAYLOAD_ENCODING_HEXADECIMAL", hashFunction: "HASH_FUNCTION_SHA256" };
    const signed = await client.submit("sign_raw_payload", { signWith: privateKeys[0].privateKeyId, ...payload });
    assert.equal(signed.body.activity.status, COMPLETED);
    const { status, body } = await rename(client);
    assert.equal(status, 403);
    assert.equal(body.code, 7);
    assert.match(body.message, /The scope of the session's profile Signing \(.*\) does not allow this/);
    assert.match(body.details[0]["@type"], /PolicyEnginePermissionError/);
    assert.equal((await client.query("list_users")).status, 200, "queries are not limited");
    const filter = { filterByStatus: ["ACTIVITY_STATUS_REJECTED"] };
    assert.equal((await client.read("list_activities", filter)).activities.length, 1);
  });

  it("limit what a session approves, and refuse what cannot be told", async () => {
    const world = await createWorld(server());
    const second = await world.quorumOfTwo();
    const { root } = world;
    const scope = "eth.tx.value < 5";
    const profile = { sessionProfileName: "Unclear", scope };
    const creation = await root.client.submit("create_session_profile", profile);
    const { sessionProfileId } = (await approve(second.client, creation.body.activity)).body.activity.result
      .createSessionProfileResult;
    const waiting = (await rename(root.client)).body.activity;
    await makeSession(world, second.client.key, sessionProfileId);
    for (const vote of [approve, reject]) {
      const { status, body } = await vote(second.client, waiting);
      assert.equal(status, 403);
      assert.match(body.message, /cannot be evaluated here/);
    }
    assert.equal((await root.client.read("get_activity", { activityId: waiting.id })).activity.status, CONSENSUS);
  });
});
