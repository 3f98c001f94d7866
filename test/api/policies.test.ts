import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import { newId } from "../../src/kernel/ids.ts";
import { MAX_POLICIES } from "../../src/kernel/limits.ts";
import { addUser, apiKeyParams, type Client, generateApiKey, type Json } from "../support/client.ts";
import { engines, startTestServer, type TestServer } from "../support/server.ts";
import { createWorld } from "../support/world.ts";

type Person = Awaited<ReturnType<typeof addUser>>;

for (const engine of engines) {
  describe(`policies (${engine})`, () => {
    let server: TestServer;
    let root: Client;
    let ada: Person;
    let bob: Person;
    let keyId: string;
    let count = 0;
    before(async () => {
      server = await startTestServer(engine);
      root = server.root;
      ada = await addUser(root, "Ada");
      bob = await addUser(root, "Bob");
      const key = { privateKeyName: "treasury", curve: "CURVE_SECP256K1", privateKeyTags: [], addressFormats: [] };
      const { privateKeys } = await root.result("create_private_keys", { privateKeys: [key] });
      keyId = privateKeys[0].privateKeyId;
    });
    after(() => server.close());
    afterEach(async () => {
      const { policies } = await root.read("list_policies");
      const policyIds = policies.map(({ policyId }: Json) => policyId);
      if (policyIds.length > 0) await root.result("delete_policies", { policyIds });
    });

    const create = async (policy: object): Promise<string> =>
      (await root.result("create_policy", { policyName: `p${count++}`, effect: "EFFECT_ALLOW", notes: "", ...policy }))
        .policyId;
    const sign = (person: Person, payload = "hello") =>
      person.client.submit("sign_raw_payload", {
        signWith: keyId,
        payload,
        encoding: "PAYLOAD_ENCODING_TEXT_UTF8",
        hashFunction: "HASH_FUNCTION_KECCAK256",
      });
    const is = ({ userId }: Person) => `approvers.any(user, user.id == '${userId}')`;
    const signs = "activity.resource == 'PRIVATE_KEY' && activity.action == 'SIGN'";

    it("are created, shown, changed and deleted", async () => {
      const policy = { policyName: "sign", effect: "EFFECT_ALLOW", condition: signs, consensus: is(ada), notes: "why" };
      const { policyId } = await root.result("create_policy", policy);
      const shown = (await root.read("get_policy", { policyId })).policy;
      const { createdAt: _c, updatedAt: _u, ...rest } = shown;
      assert.deepEqual(rest, { policyId, ...policy });
      assert.deepEqual((await root.read("list_policies")).policies, [shown]);
      const time = "time.now < Timestamp('2100-01-01T00:00:00Z')";
      await root.result(
        "update_policy",
        { policyId, policyNotes: "because", time },
        { type: "ACTIVITY_TYPE_UPDATE_POLICY_V2" },
      );
      const changed = (await root.read("get_policy", { policyId })).policy;
      assert.deepEqual([changed.notes, changed.time, changed.condition], ["because", time, signs]);
      assert.deepEqual(await root.result("delete_policy", { policyId }), { policyId });
      assert.equal((await root.query("get_policy", { policyId })).status, 404);
      assert.equal((await root.submit("delete_policy", { policyId: newId() })).status, 404);
    });

    it("allow whom they name, for what they say", async () => {
      assert.equal((await sign(ada)).status, 403);
      await create({ consensus: is(ada), condition: `${signs} && private_key.id == '${keyId}'` });
      assert.equal((await sign(ada)).body.activity?.status, "ACTIVITY_STATUS_COMPLETED");
      assert.equal((await sign(bob)).status, 403);
      assert.equal((await ada.client.submit("update_organization_name", { organizationName: "x" })).status, 403);
      const tag = await ada.client.submit("create_user_tag", { userTagName: "x", userIds: [] });
      assert.equal(tag.status, 403);
    });

    it("made of selectors allow and deny as their expressions do", async () => {
      const selectors = [
        { subject: "activity.action", operator: "OPERATOR_EQUAL", target: "SIGN" },
        { subject: "user.id", operator: "OPERATOR_EQUAL", target: ada.userId },
        { subject: "private_key.id", operator: "OPERATOR_IN", target: keyId },
      ];
      const first = { policyName: "first version", effect: "EFFECT_ALLOW", selectors };
      const { policyId } = await root.result("create_policy", first, { type: "ACTIVITY_TYPE_CREATE_POLICY" });
      const shown = (await root.read("get_policy", { policyId })).policy;
      assert.deepEqual(
        [shown.condition, shown.consensus, shown.notes],
        [`activity.action == 'SIGN' && private_key.id in ['${keyId}']`, is(ada), ""],
      );
      assert.equal((await sign(ada, "selected")).body.activity?.status, "ACTIVITY_STATUS_COMPLETED");
      assert.equal((await sign(bob, "selected by nobody")).status, 403);
      const second = {
        policyName: "second version",
        effect: "EFFECT_DENY",
        selectors: [{ subject: "user.id", operator: "OPERATOR_NOT_IN", targets: [bob.userId, root.organizationId] }],
        notes: "no more",
      };
      await root.result("create_policy", second, { type: "ACTIVITY_TYPE_CREATE_POLICY_V2" });
      assert.equal((await sign(ada, "selected again")).status, 403);
    });

    it("made of selectors that say nothing known are refused, and no target becomes part of an expression", async () => {
      const refused = async (selector: object, type = "ACTIVITY_TYPE_CREATE_POLICY_V2"): Promise<string> => {
        const policy = { policyName: `refused ${count++}`, effect: "EFFECT_ALLOW", selectors: [selector] };
        const { status, body } = await root.submit("create_policy", policy, { type });
        assert.equal(status, 400);
        return body.message;
      };
      const equal = { subject: "wallet.label", operator: "OPERATOR_EQUAL" };
      assert.match(
        await refused({ ...equal, subject: "user.name", targets: ["x"] }),
        /the known ones are user\.id, user\.email/,
      );
      assert.match(
        await refused({ ...equal, operator: "OPERATOR_CONTAINS", targets: ["x"] }),
        /fitting are OPERATOR_EQUAL/,
      );
      assert.match(await refused(equal), /missing field `parameters\.selectors\.0\.targets`/);
      assert.match(
        await refused(equal, "ACTIVITY_TYPE_CREATE_POLICY"),
        /missing field `parameters\.selectors\.0\.target`/,
      );
      assert.match(await refused({ targets: ["x"] }), /missing field `parameters\.selectors\.0\.subject`/);
      const quoted = "x' || true || 'x' == 'x";
      assert.match(
        await refused({ ...equal, targets: [quoted] }),
        /`parameters\.selectors\.0\.targets\.0` holds a single quote/,
      );
      const first = await refused({ ...equal, target: quoted }, "ACTIVITY_TYPE_CREATE_POLICY");
      assert.match(first, /`parameters\.selectors\.0\.target` holds a single quote/);
      const number = { subject: "eth.tx.value", operator: "OPERATOR_LESS_THAN", targets: ["9".repeat(78)] };
      assert.match(await refused(number), /invalid policy condition/);
      assert.match(
        await refused({ ...equal, operator: "OPERATOR_IN", targets: Array(900).fill("x".repeat(40)) }),
        /characters/,
      );
      assert.deepEqual((await root.read("list_policies")).policies, []);
    });

    it("deny before they allow, and the root quorum stands above them", async () => {
      await create({ consensus: is(ada), condition: signs });
      const denying = await create({ effect: "EFFECT_DENY", condition: signs });
      const answer = await sign(ada);
      assert.equal(answer.status, 403);
      const [denial] = answer.body.details;
      assert.equal(denial.message, `The following policies denied this action: ${denying}`);
      assert.equal(denial.policyEvaluations.length, 2);
      const byRoot = await sign({ userId: "", client: root });
      assert.equal(byRoot.body.activity.status, "ACTIVITY_STATUS_COMPLETED");
    });

    it("say why they denied", async () => {
      const policyId = await create({
        consensus: is(ada),
        condition: "activity.action == 'SIGN' && private_key.label == 'other'",
      });
      const answer = await sign(ada);
      const [denial, explanation] = answer.body.details;
      assert.equal(denial.message, "No policies evaluated to outcome: Allow");
      assert.deepEqual(denial.policyEvaluations, [{ policyId, outcome: "OUTCOME_DENY_IMPLICIT" }]);
      assert.equal(explanation.explanations[0].policyId, policyId);
      assert.match(explanation.explanations[0].text, /private_key\.label == 'other'/);
      assert.match(explanation.explanations[0].text, /treasury/);
    });

    it("gather consensus, in which each vote is judged with the facts of its time", async () => {
      await create({ consensus: `${is(ada)} && ${is(bob)}`, condition: signs });
      const first = await sign(ada, "together");
      assert.equal(first.body.activity?.status, "ACTIVITY_STATUS_CONSENSUS_NEEDED", JSON.stringify(first.body));
      const { id: activityId, fingerprint } = first.body.activity;
      const seen = await bob.client.read("get_activity", { activityId });
      assert.deepEqual([seen.activity.canApprove, seen.activity.canReject], [true, true]);
      const carol = await addUser(root, "Carol");
      const bystander = await carol.client.read("get_activity", { activityId });
      assert.deepEqual([bystander.activity.canApprove, bystander.activity.canReject], [false, false]);
      assert.equal((await carol.client.submit("approve_activity", { fingerprint })).status, 403);
      const { activity } = (await bob.client.submit("approve_activity", { fingerprint })).body;
      assert.equal(activity.status, "ACTIVITY_STATUS_COMPLETED");
      assert.match(activity.result.signRawPayloadResult.r, /^[0-9a-f]{64}$/);
      const { policyEvaluations } = await root.read("get_policy_evaluations", { activityId });
      assert.deepEqual(
        policyEvaluations.map(({ policyEvaluations: [only] }: Json) => only.outcome),
        ["OUTCOME_REQUIRES_CONSENSUS", "OUTCOME_ALLOW"],
      );
      assert.deepEqual(
        policyEvaluations.map(({ voteId }: Json) => voteId),
        activity.votes.map(({ id }: Json) => id),
      );
    });

    it("forget an approval with its user's tag", async () => {
      const { userTagId } = await root.result("create_user_tag", {
        userTagName: `approver ${engine}`,
        userIds: [ada.userId, bob.userId],
      });
      const tagged = `approvers.filter(user, user.tags.contains('${userTagId}')).count() >= 2`;
      await create({ consensus: tagged, condition: signs });
      const { fingerprint } = (await sign(ada, "tagged")).body.activity;
      await root.result("update_user_tag", { userTagId, addUserIds: [], removeUserIds: [ada.userId] });
      const vote = await bob.client.submit("approve_activity", { fingerprint });
      assert.notEqual(vote.body.activity?.status, "ACTIVITY_STATUS_COMPLETED");
      await root.result("delete_user_tags", { userTagIds: [userTagId] });
    });

    it("that have come to allow it have anybody bring it about, who still cannot reject it", async () => {
      await create({ consensus: `${is(ada)} && ${is(bob)}`, condition: signs });
      const { id: activityId, fingerprint } = (await sign(ada, "enough")).body.activity;
      const carol = await addUser(root, "Carol");
      const vote = (path: string) => carol.client.submit(path, { fingerprint });
      for (const path of ["approve_activity", "reject_activity"]) assert.equal((await vote(path)).status, 403, path);
      await create({ consensus: is(ada), condition: signs });
      const seen = await carol.client.read("get_activity", { activityId });
      assert.deepEqual([seen.activity.canApprove, seen.activity.canReject], [true, false]);
      assert.equal((await vote("reject_activity")).status, 403);
      assert.equal((await vote("approve_activity")).body.activity?.status, "ACTIVITY_STATUS_COMPLETED");
    });

    it("see the credential that a user approved with last, and not the one before", async () => {
      const key = generateApiKey();
      const { apiKeyIds } = await root.result("create_api_keys", { userId: ada.userId, apiKeys: [apiKeyParams(key)] });
      const both = `${is(ada)} && ${is(bob)}`;
      const policyId = await create({ consensus: both, condition: signs });
      const { fingerprint } = (await sign(ada, "with another key")).body.activity;
      const policyConsensus = `${both} && credentials.any(credential, credential.id == '${apiKeyIds[0]}')`;
      await root.result("update_policy", { policyId, policyConsensus }, { type: "ACTIVITY_TYPE_UPDATE_POLICY_V2" });
      const approve = async (client: Client) =>
        (await client.submit("approve_activity", { fingerprint })).body.activity;
      const replaced = await approve(ada.client.with({ key }));
      assert.deepEqual(
        replaced.votes.map(({ publicKey }: Json) => publicKey),
        [key.publicKey],
      );
      assert.equal((await approve(bob.client)).status, "ACTIVITY_STATUS_COMPLETED");
    });

    it("end with one rejection of a user they name", async () => {
      await create({ consensus: `${is(ada)} && ${is(bob)}`, condition: signs });
      const { fingerprint } = (await sign(ada, "rejected")).body.activity;
      const { activity } = (await bob.client.submit("reject_activity", { fingerprint })).body;
      assert.equal(activity.status, "ACTIVITY_STATUS_REJECTED");
    });

    it("read typed data, and what a payload does not say is an error", async () => {
      const policyId = await create({ consensus: is(ada), condition: "eth.eip_712.primary_type == 'Mail'" });
      const typed = (primaryType: string) =>
        JSON.stringify({
          types: { [primaryType]: [{ name: "text", type: "string" }] },
          primaryType,
          domain: { name: "Mail app" },
          message: { text: "hi" },
        });
      const signTyped = (payload: string) =>
        ada.client.submit("sign_raw_payload", {
          signWith: keyId,
          payload,
          encoding: "PAYLOAD_ENCODING_EIP712",
          hashFunction: "HASH_FUNCTION_NO_OP",
        });
      assert.equal((await signTyped(typed("Mail"))).body.activity?.status, "ACTIVITY_STATUS_COMPLETED");
      assert.equal((await signTyped(typed("Order"))).status, 403);
      const plain = await sign(ada);
      assert.deepEqual(plain.body.details[0].policyEvaluations, [{ policyId, outcome: "OUTCOME_ERROR" }]);
    });

    it("tell credentials apart", async () => {
      await create({
        consensus: `credentials.any(c, c.public_key == '${ada.client.key.publicKey}')`,
        condition: signs,
      });
      assert.equal((await sign(ada)).status, 200);
      const other = generateApiKey();
      await ada.client.result("create_api_keys", { userId: ada.userId, apiKeys: [apiKeyParams(other)] });
      const withOther = { userId: ada.userId, client: ada.client.with({ key: other }) };
      assert.notEqual((await sign(withOther)).body.activity?.status, "ACTIVITY_STATUS_COMPLETED");
    });

    it("can take a user's own credentials away from them, by denying", async () => {
      const apiKeys = [apiKeyParams(generateApiKey())];
      await create({ effect: "EFFECT_DENY", condition: "activity.resource == 'CREDENTIAL'" });
      assert.equal((await bob.client.submit("create_api_keys", { userId: bob.userId, apiKeys })).status, 403);
    });

    it("out of their time are as if they were not there", async () => {
      await create({ consensus: is(ada), condition: signs, time: "time.now < Timestamp('2020-01-01T00:00:00Z')" });
      const answer = await sign(ada);
      assert.equal(answer.status, 403);
      assert.equal(answer.body.details[0].policyEvaluations[0].outcome, "OUTCOME_TIME_INACTIVE");
    });

    it("tell whether they are in their time, as the server's clock says", async () => {
      const times = {
        past: "time.now < Timestamp('2020-01-01T00:00:00Z')",
        future: "time.now < Timestamp('2100-01-01T00:00:00Z')",
      };
      const always = await create({ condition: signs });
      const past = await create({ condition: signs, time: times.past });
      const future = await create({ condition: signs, time: times.future });
      const broken = await create({ condition: signs, time: times.past });
      await server.opened.database.transact(undefined, async (tx) => {
        await tx.updateTable("policies").set({ time: "time.then" }).where("id", "=", broken).execute();
      });
      const before = Date.now();
      const { statuses, evaluatedAtMs } = await ada.client.read("get_active_policies");
      assert.ok(Number(evaluatedAtMs) >= before && Number(evaluatedAtMs) <= Date.now(), evaluatedAtMs);
      const { organizationId } = root;
      const [{ error, ...withError }] = statuses.splice(3);
      assert.deepEqual(statuses, [
        { organizationId, policyId: always, active: true },
        { organizationId, policyId: past, active: false, timeExpr: times.past },
        { organizationId, policyId: future, active: true, timeExpr: times.future },
      ]);
      assert.deepEqual(withError, { organizationId, policyId: broken, active: false, timeExpr: "time.then" });
      assert.match(error, /then/);
    });

    it("are tried out without creating anything", async () => {
      const policyId = await create({ consensus: `${is(ada)} && ${is(bob)}`, condition: signs });
      const parameters = {
        signWith: keyId,
        payload: "x",
        encoding: "PAYLOAD_ENCODING_TEXT_UTF8",
        hashFunction: "HASH_FUNCTION_SHA256",
      };
      const activity = { type: "ACTIVITY_TYPE_SIGN_RAW_PAYLOAD_V2", parameters };
      const before = (await root.read("list_activities")).activities[0].id;
      const ask = (userIds: string[]) => root.read("simulate_policy", { activity, userIds });
      assert.equal((await ask([ada.userId, bob.userId])).outcome, "ALLOW");
      const short = await ask([ada.userId]);
      assert.equal(short.outcome, "CONSENSUS_NEEDED");
      assert.equal(short.policyEvaluations[0].policyId, policyId);
      assert.match(short.policyEvaluations[0].explanation, new RegExp(bob.userId));
      const rootId = server.credentials.userId;
      assert.deepEqual([(await ask([rootId])).outcome, (await ask([rootId])).rootQuorum], ["ALLOW", "MET"]);
      const carol = await addUser(root, "Carol");
      assert.equal((await ask([carol.userId])).outcome, "DENY");
      const unknown = await root.query("simulate_policy", { activity: { type: "X", parameters }, userIds: [rootId] });
      assert.equal(unknown.status, 400);
      const bad = await root.query("simulate_policy", { activity: { ...activity, parameters: {} }, userIds: [rootId] });
      assert.match(bad.body.message, /activity\.parameters/);
      assert.equal((await root.query("simulate_policy", { activity, userIds: [newId()] })).status, 404);
      assert.notEqual((await root.read("list_activities")).activities[0].id, before, "only adding Carol made one");
    });

    describe("that are not stored yet", () => {
      const parameters = {
        signWith: "",
        payload: "drafted",
        encoding: "PAYLOAD_ENCODING_TEXT_UTF8",
        hashFunction: "HASH_FUNCTION_KECCAK256",
      };
      const request = (draftPolicy: object, users: Person[]) => ({
        activity: { type: "ACTIVITY_TYPE_SIGN_RAW_PAYLOAD_V2", parameters: { ...parameters, signWith: keyId } },
        userIds: users.map(({ userId }) => userId),
        draftPolicy,
      });
      const simulate = async (draftPolicy: object, users: Person[]) =>
        root.read("simulate_policy", request(draftPolicy, users));
      const outcomesOf = ({ policyEvaluations }: Json): object =>
        Object.fromEntries(policyEvaluations.map(({ policyId, outcome }: Json) => [policyId, outcome]));

      it("are tried out beside the stored ones, or in the place of one", async () => {
        const policyId = await create({ consensus: is(bob), condition: signs });
        const draft = { effect: "EFFECT_ALLOW", condition: signs, consensus: `${is(ada)} && ${is(bob)}` };
        const beside = await simulate(draft, [ada]);
        assert.equal(beside.outcome, "CONSENSUS_NEEDED");
        assert.deepEqual(outcomesOf(beside), {
          [policyId]: "OUTCOME_DENY_IMPLICIT",
          draft: "OUTCOME_REQUIRES_CONSENSUS",
        });
        assert.match(beside.policyEvaluations[1].explanation, new RegExp(bob.userId));
        assert.equal((await simulate(draft, [ada, bob])).outcome, "ALLOW");
        assert.equal((await simulate(draft, [bob])).outcome, "ALLOW", "by the one that is stored");

        const replaced = await simulate({ policyId, ...draft }, [bob]);
        assert.equal(replaced.outcome, "CONSENSUS_NEEDED");
        assert.deepEqual(outcomesOf(replaced), { [policyId]: "OUTCOME_REQUIRES_CONSENSUS" });
        const denying = await simulate({ effect: "EFFECT_DENY", condition: signs }, [bob]);
        assert.equal(denying.outcome, "DENY");
        assert.deepEqual(
          denying.warnings.map((warning: Json) => warning.policyId),
          [],
        );
        const past = await simulate({ ...draft, time: "time.now < Timestamp('2020-01-01T00:00:00Z')" }, [ada]);
        assert.deepEqual([past.outcome, past.policyEvaluations[1].outcome], ["DENY", "OUTCOME_TIME_INACTIVE"]);
        const trap = await simulate({ effect: "EFFECT_ALLOW" }, [ada]);
        assert.equal(trap.outcome, "ALLOW");
        assert.ok(trap.warnings.some((warning: Json) => warning.policyId === "draft"));
      });

      it("change nothing, and decide nothing", async () => {
        const policyId = await create({ consensus: is(bob), condition: signs });
        const stored = (await root.read("list_policies")).policies;
        const [last] = (await root.read("list_activities")).activities;
        const draft = { policyId, effect: "EFFECT_ALLOW", condition: signs, consensus: is(ada) };
        assert.equal((await simulate(draft, [ada])).outcome, "ALLOW");
        assert.deepEqual((await root.read("list_policies")).policies, stored);
        assert.equal((await root.read("list_activities")).activities[0].id, last.id);
        const { draftPolicy: _, ...asStored } = request({}, [ada]);
        assert.equal((await root.read("simulate_policy", asStored)).outcome, "DENY", "what was tried is forgotten");
        assert.equal((await sign(ada, newId())).status, 403);
      });

      it("are refused where they could not be stored, or stand in the place of none", async () => {
        const refusal = async (draftPolicy: object): Promise<[number, string]> => {
          const { status, body } = await root.query("simulate_policy", request(draftPolicy, [ada]));
          return [status, body.message];
        };
        for (const [draft, words] of [
          [{ condition: signs }, /draftPolicy\.effect/],
          [{ effect: "EFFECT_MAYBE" }, /draftPolicy\.effect/],
          [{ effect: "EFFECT_ALLOW", condition: 7 }, /draftPolicy\.condition/],
          [{ effect: "EFFECT_ALLOW", policyId: "one" }, /draftPolicy\.policyId/],
          [{ effect: "EFFECT_ALLOW", notes: "no" }, /draftPolicy/],
          [
            { effect: "EFFECT_ALLOW", condition: "activity.resorce == 'WALLET'" },
            /invalid policy condition: .*resorce/,
          ],
          [{ effect: "EFFECT_ALLOW", consensus: "approvers.count(" }, /invalid policy consensus/],
          [{ effect: "EFFECT_ALLOW", time: "time.then" }, /invalid policy time/],
          [{ effect: "EFFECT_ALLOW", condition: `'${"x".repeat(20_000)}' == ''` }, /invalid policy condition/],
        ] as const) {
          const [status, message] = await refusal(draft);
          assert.equal(status, 400, message);
          assert.match(message, words);
        }
        const elsewhere = (await createWorld(server)).root.client;
        const theirs = await elsewhere.result("create_policy", {
          policyName: "theirs",
          effect: "EFFECT_ALLOW",
          condition: signs,
          notes: "",
        });
        for (const policyId of [theirs.policyId, newId()]) {
          const [status, message] = await refusal({ policyId, effect: "EFFECT_ALLOW" });
          assert.equal(status, 404);
          assert.match(message, new RegExp(`unable to find policy ${policyId}`));
        }
      });

      it("count among as many as there may be", async () => {
        const policies = Array.from({ length: MAX_POLICIES }, (_, index) => ({
          policyName: `full ${index}`,
          effect: "EFFECT_ALLOW",
          condition: "activity.resource == 'NONE'",
          notes: "",
        }));
        const { policyIds } = await root.result("create_policies", { policies });
        const draft = { effect: "EFFECT_ALLOW", condition: signs, consensus: is(ada) };
        const { status, body } = await root.query("simulate_policy", request(draft, [ada]));
        assert.equal(status, 429, JSON.stringify(body));
        assert.match(body.message, /at most 100 policies/);
        assert.equal((await simulate({ policyId: policyIds[0], ...draft }, [ada])).outcome, "ALLOW");
      });
    });

    it("are tried out as they would be asked, one approval after the other", async () => {
      await create({ consensus: is(bob), condition: signs });
      const parameters = {
        signWith: keyId,
        payload: newId(),
        encoding: "PAYLOAD_ENCODING_TEXT_UTF8",
        hashFunction: "HASH_FUNCTION_KECCAK256",
      };
      const activity = { type: "ACTIVITY_TYPE_SIGN_RAW_PAYLOAD_V2", parameters };
      const ask = async (users: Person[]) =>
        root.read("simulate_policy", { activity, userIds: users.map(({ userId }) => userId) });
      assert.equal((await ask([ada, bob])).outcome, "DENY", "Ada is denied before Bob hears of it");
      assert.equal((await sign(ada, "denied")).status, 403);
      assert.equal((await ask([bob, ada])).outcome, "ALLOW");
      const rename = { type: "ACTIVITY_TYPE_UPDATE_ORGANIZATION_NAME", parameters: { organizationName: "n" } };
      const { userId } = server.credentials;
      await root.result("update_root_quorum", { threshold: 2, userIds: [userId, ada.userId] });
      const twice = { activity: rename, userIds: [ada.userId, ada.userId] };
      assert.equal((await root.read("simulate_policy", twice)).outcome, "CONSENSUS_NEEDED");
      const both = { activity: rename, userIds: [ada.userId, bob.userId, userId] };
      assert.equal((await root.read("simulate_policy", both)).outcome, "ALLOW");
      const change = await root.submit("update_root_quorum", { threshold: 1, userIds: [userId] });
      await ada.client.result("approve_activity", { fingerprint: change.body.activity.fingerprint });
    });

    it("are tried out together with MFA policies", async () => {
      await create({ consensus: is(bob), condition: signs });
      const mfaPolicy = {
        userId: bob.userId,
        mfaPolicyName: "Passkey",
        condition: "true",
        requiredAuthenticationMethods: [{ any: [{ type: "AUTHENTICATION_TYPE_PASSKEY" }] }],
        order: 1,
      };
      const { mfaPolicyId } = await root.result("create_mfa_policy", mfaPolicy);
      const parameters = {
        signWith: keyId,
        payload: "tried",
        encoding: "PAYLOAD_ENCODING_TEXT_UTF8",
        hashFunction: "HASH_FUNCTION_KECCAK256",
      };
      const activity = { type: "ACTIVITY_TYPE_SIGN_RAW_PAYLOAD_V2", parameters };
      const { outcome, policyEvaluations } = await root.read("simulate_policy", { activity, userIds: [bob.userId] });
      assert.equal(outcome, "AUTHENTICATORS_NEEDED");
      assert.equal(policyEvaluations.at(-1).policyId, mfaPolicyId);
      assert.match(policyEvaluations.at(-1).explanation, /get_mfa_policies/);
      const real = await sign(bob, "tried");
      assert.equal(real.body.activity.status, "ACTIVITY_STATUS_AUTHENTICATORS_NEEDED");
      await root.result("delete_mfa_policy", { userId: bob.userId, mfaPolicyId });
      const { fingerprint } = real.body.activity;
      const again = await bob.client.submit("approve_activity", { fingerprint });
      assert.equal(again.body.activity.status, "ACTIVITY_STATUS_COMPLETED", "nothing more is asked of Bob by now");
    });

    it("are refused when they cannot be right", async () => {
      const cases: [object, RegExp][] = [
        [{ condition: "activity.nothing == 'x'" }, /invalid policy condition: .*field does not exist: nothing/],
        [{ condition: "activity.action ==" }, /invalid policy condition/],
        [{ consensus: "approvers" }, /invalid policy consensus/],
        [{ time: "true ||" }, /time/],
        [{ condition: `${"(".repeat(10_000)}true${")".repeat(10_000)}` }, /invalid policy condition/],
        [{ effect: "EFFECT_MAYBE" }, /parameters\.effect/],
      ];
      for (const [change, message] of cases) {
        const policy = { policyName: "bad", effect: "EFFECT_ALLOW", notes: "", ...change };
        const answer = await root.submit("create_policy", policy);
        assert.equal(answer.status, 400, JSON.stringify(change).slice(0, 100));
        assert.match(answer.body.message, message);
      }
      await create({ policyName: "taken" });
      const twice = await root.submit("create_policy", { policyName: "taken", effect: "EFFECT_ALLOW", notes: "" });
      assert.equal(twice.status, 400);
      assert.match(twice.body.message, /policy label must be unique/);
      const together = [
        { policyName: "new one", effect: "EFFECT_ALLOW", notes: "" },
        { policyName: "taken", effect: "EFFECT_DENY", notes: "" },
      ];
      assert.equal((await root.submit("create_policies", { policies: together })).status, 400);
      assert.equal((await root.read("list_policies")).policies.length, 1);
    });
  });
}
