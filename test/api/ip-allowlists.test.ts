import assert from "node:assert/strict";
import { after, afterEach, before, describe, it, mock } from "node:test";
import { removeAllAllowlists } from "../../src/capabilities/ip-allowlists/store.ts";
import { createAuthenticator } from "../support/authenticator.ts";
import { addUser, apiKeyParams, type Client, generateApiKey, type Json } from "../support/client.ts";
import { sendFrom } from "../support/send-from.ts";
import { engines, startTestServer, type TestServer } from "../support/server.ts";
import { addSubOrganization, createWorld, type World } from "../support/world.ts";

const HERE = "127.0.0.1";
const ELSEWHERE = "127.0.0.2";
const PROXY = "127.0.0.9";
const OUTER_PROXY = "127.0.8.8";
// Listens on both families, where an IPv4 client has an IPv4-mapped address.
const settings = { KEYSTEAD_HOST: "::", KEYSTEAD_TRUSTED_PROXIES: `${PROXY}, 127.0.8.0/24` };

for (const engine of engines) {
  describe(`IP allowlists (${engine})`, () => {
    let server: TestServer;
    let world: World;
    let root: Client;
    before(async () => {
      server = await startTestServer(engine, { settings });
      world = await createWorld(server);
      root = world.root.client;
    });
    after(() => server.close());
    afterEach(() => clear());

    /** As the operator's command does: it may be that no request is let in. */
    const clear = () =>
      server.opened.database.transact(root.organizationId, (tx) => removeAllAllowlists(tx, root.organizationId));

    const set = (parameters: object) => root.result("set_ip_allowlist", parameters);
    const get = async (fields: object = {}) => (await root.read("get_ip_allowlist", fields)).allowlist;
    const refusal = async (parameters: object): Promise<string> => {
      const { status, body } = await root.submit("set_ip_allowlist", parameters);
      assert.equal(status, 400, JSON.stringify(body));
      return body.message;
    };
    const whoamiFrom = (from: string, headers: Record<string, string | string[]> = {}, client = root) =>
      sendFrom(
        from,
        client,
        "/public/v1/query/whoami",
        JSON.stringify({ organizationId: client.organizationId }),
        headers,
      );
    const submitFrom = (from: string, path: string, parameters: object, client = root) =>
      sendFrom(from, client, `/public/v1/submit/${path}`, client.submitBody(path, parameters));
    const allow = (...cidrs: string[]) => ({ enabled: true, rules: cidrs.map((cidr) => ({ cidr })) });

    function assertRefused(answer: { status: number; body: Json }, address: string): void {
      assert.equal(answer.status, 403, JSON.stringify(answer.body));
      assert.equal(answer.body.code, 7);
      assert.equal(answer.body.turnkeyErrorCode, "REQUEST_NOT_AUTHORIZED");
      assert.ok(answer.body.message.includes(`the address ${address} is not on the IP allowlist`), answer.body.message);
      assert.match(answer.body.message, /send the request from an allowed address/);
    }

    describe("are kept", () => {
      it("empty and off, where there is none", async () => {
        const { organizationId } = root;
        assert.deepEqual(await get(), { organizationId, rules: [], enabled: false });
        const { publicKey } = root.key;
        assert.deepEqual(await get({ publicKey }), { organizationId, rules: [], publicKey });
      });

      it("in one spelling and without duplicates, off unless enabled", async () => {
        const rules = [
          { cidr: "203.0.113.77/24", label: "Office" },
          { cidr: "203.0.113.0/24", label: "Office again" },
          { cidr: "::ffff:198.51.100.7" },
          { cidr: "2001:DB8:0:1::5/48" },
        ];
        const begun = Date.now();
        assert.deepEqual(await set({ rules }), {});
        const allowlist = await get();
        const times = allowlist.rules.map(({ createdAt }: Json) => Number(createdAt));
        for (const time of times) assert.ok(time >= begun && time <= Date.now());
        assert.deepEqual(
          allowlist.rules.map(({ cidr, label }: Json) => [cidr, label]),
          [
            ["203.0.113.0/24", "Office"],
            ["198.51.100.7/32", undefined],
            ["2001:db8::/48", undefined],
          ],
        );
        assert.equal(allowlist.enabled, false);
        assert.equal(allowlist.onEvaluationError, "DENY");
      });

      it("as a whole: what is set replaces all, and a block that stays keeps its time", async () => {
        await set({ rules: [{ cidr: "203.0.113.0/24" }, { cidr: "198.51.100.0/24" }], onEvaluationError: "ALLOW" });
        const { rules: before } = await get();
        await server.opened.database.transact(root.organizationId, (tx) =>
          tx
            .updateTable("ip_allowlists")
            .set({ rules: JSON.stringify(before.map((rule: Json) => ({ ...rule, createdAt: 1000 }))) })
            .where("organization_id", "=", root.organizationId)
            .execute(),
        );
        await set({ rules: [{ cidr: "198.51.100.9/24", label: "New name" }, { cidr: "192.0.2.0/24" }] });
        const { rules, onEvaluationError } = await get();
        assert.equal(rules.length, 2);
        assert.deepEqual(rules[0], { cidr: "198.51.100.0/24", label: "New name", createdAt: "1000" });
        assert.ok(Number(rules[1].createdAt) > 1000);
        assert.equal(onEvaluationError, "DENY");
      });

      it("and removed, once or again", async () => {
        await set({ rules: [{ cidr: "203.0.113.0/24" }] });
        assert.deepEqual(await root.result("remove_ip_allowlist", {}), {});
        assert.deepEqual(await get(), { organizationId: root.organizationId, rules: [], enabled: false });
        assert.deepEqual(await root.result("remove_ip_allowlist", {}), {});
      });

      it("but no wider, longer or otherwise than they may be", async () => {
        const rule = (cidr: string) => ({ rules: [{ cidr: "192.0.2.1" }, { cidr }] });
        assert.match(await refusal(rule("10.0.0.0/19")), /rules\.1\.cidr` is too wide: .*IPv4.* at least 20/);
        assert.match(await refusal(rule("2001:db8::/47")), /rules\.1\.cidr` is too wide: .*IPv6.* at least 48/);
        assert.match(await refusal(rule("::ffff:10.0.0.0/115")), /rules\.1\.cidr` is too wide: .*IPv4.* at least 20/);
        assert.match(await refusal(rule("10.0.0/24")), /rules\.1\.cidr` must be an IP address or a CIDR block/);
        assert.match(await refusal(rule("")), /rules\.1\.cidr` must be an IP address or a CIDR block/);
        assert.match(await refusal({ rules: [{ cidr: "10.0.0.1", label: "a".repeat(256) }] }), /label/);
        const eleven = Array.from({ length: 11 }, () => ({ cidr: "10.0.0.1" }));
        assert.match(await refusal({ rules: eleven }), /`parameters\.rules` has more than 10 entries/);
        assert.match(await refusal({ onEvaluationError: "MAYBE" }), /onEvaluationError` must be one of ALLOW, DENY/);
        const ofKey = { publicKey: root.key.publicKey, enabled: false };
        assert.match(await refusal(ofKey), /`parameters\.enabled` must be absent for an API key/);
        await set(rule("10.0.0.0/20"));
        await set(rule("2001:db8::/48"));
      });

      it("only for keys of the organization, in either case", async () => {
        const { publicKey } = generateApiKey();
        for (const path of ["set_ip_allowlist", "remove_ip_allowlist"]) {
          assert.equal((await root.submit(path, { publicKey })).status, 404, path);
        }
        assert.equal((await root.query("get_ip_allowlist", { publicKey })).status, 404);
        assert.equal((await root.query("get_ip_allowlist", { publicKey: "" })).status, 400);
        await set({ publicKey: root.key.publicKey.toUpperCase(), rules: [{ cidr: "10.0.0.1" }] });
        const { organizationId } = root;
        const allowlist = await get({ publicKey: root.key.publicKey });
        const [{ createdAt }] = allowlist.rules;
        assert.deepEqual(allowlist, {
          organizationId,
          rules: [{ cidr: "10.0.0.1/32", createdAt }],
          publicKey: root.key.publicKey,
          onEvaluationError: "DENY",
        });
        assert.deepEqual(await get(), { organizationId, rules: [], enabled: false });
      });

      it("under the policies on CONFIG and UPDATE", async () => {
        const { client, userId } = await addUser(root);
        assert.equal((await client.submit("set_ip_allowlist", {})).status, 403);
        const { policyId } = await root.result("create_policy", {
          policyName: "configuration",
          effect: "EFFECT_ALLOW",
          consensus: `approvers.any(user, user.id == '${userId}')`,
          condition: "activity.resource == 'CONFIG' && activity.action == 'UPDATE'",
          notes: "",
        });
        assert.deepEqual(await client.result("set_ip_allowlist", {}), {});
        assert.deepEqual(await client.result("remove_ip_allowlist", {}), {});
        await root.result("delete_policy", { policyId });
      });
    });

    describe("let in whom they name", () => {
      it("and nobody else, for queries, submits and votes; a refusal is stored nowhere, and logged", async () => {
        const second = await addUser(root);
        await set(allow(HERE));
        assert.equal((await whoamiFrom(HERE)).status, 200);
        assertRefused(await whoamiFrom(ELSEWHERE), ELSEWHERE);
        assertRefused(await whoamiFrom("::1"), "::1");
        assertRefused(await whoamiFrom(ELSEWHERE, {}, second.client), ELSEWHERE);
        const { activities: before } = await root.read("list_activities");
        const rename = { organizationName: "From elsewhere" };
        assertRefused(await submitFrom(ELSEWHERE, "update_organization_name", rename), ELSEWHERE);
        const fingerprint = `sha256:${"0".repeat(64)}`;
        assertRefused(await submitFrom(ELSEWHERE, "approve_activity", { fingerprint }), ELSEWHERE);
        assertRefused(await submitFrom(ELSEWHERE, "reject_activity", { fingerprint }), ELSEWHERE);
        assert.deepEqual((await root.read("list_activities")).activities, before);
        assert.equal((await submitFrom(HERE, "update_organization_name", rename)).status, 200);
        const lines = server.log().split("\n");
        const refused = lines.filter((line) => line.includes("refused by an IP allowlist"));
        assert.ok(refused.length >= 6);
        assert.ok(refused.at(-1)?.includes(ELSEWHERE) && refused.at(-1)?.includes(root.organizationId));
      });

      it("also over IPv6, and by blocks", async () => {
        await set(allow("::1", "127.0.0.0/30"));
        for (const from of [HERE, ELSEWHERE, "127.0.0.3", "::1"])
          assert.equal((await whoamiFrom(from)).status, 200, from);
        assertRefused(await whoamiFrom("127.0.0.4"), "127.0.0.4");
      });

      it("for passkeys as well", async () => {
        const authenticator = createAuthenticator();
        const [origin, rpId] = ["https://app.example.com", "app.example.com"];
        const challenge = Buffer.from("challenge").toString("base64url");
        const attestation = authenticator.attest({ challenge: "challenge", origin, rpId });
        const authenticators = [{ authenticatorName: "passkey", challenge, attestation }];
        await root.result("create_authenticators", { userId: world.root.userId, authenticators });
        await set(allow(HERE));
        const body = JSON.stringify({ organizationId: root.organizationId });
        const from = (address: string) =>
          whoamiFrom(address, { "x-stamp-webauthn": authenticator.assert({ body, origin, rpId }) });
        assert.equal((await from(HERE)).status, 200);
        assertRefused(await from(ELSEWHERE), ELSEWHERE);
      });

      it("for the tokens of read-only sessions too", async () => {
        const { session } = await root.result("create_read_only_session", {});
        await set(allow(HERE));
        const from = (address: string) => whoamiFrom(address, { "x-session": session });
        assert.equal((await from(HERE)).status, 200);
        assertRefused(await from(ELSEWHERE), ELSEWHERE);
      });

      it("only while they are enabled; without rules nobody", async () => {
        await set({ rules: [{ cidr: ELSEWHERE }] });
        assert.equal((await whoamiFrom(HERE)).status, 200);
        await set({ enabled: true });
        for (const from of [HERE, ELSEWHERE, "::1"]) assertRefused(await whoamiFrom(from), from);
      });

      it("after the stamp was verified: a stranger learns nothing of the list", async () => {
        await set(allow(HERE));
        const stranger = root.with({ key: generateApiKey() });
        assert.equal((await whoamiFrom(ELSEWHERE, {}, stranger)).status, 401);
        const forged = { "x-stamp": root.stamp("another body") };
        assert.equal((await whoamiFrom(ELSEWHERE, forged)).status, 401);
      });
    });

    describe("of single keys", () => {
      it("replace the organization's for that key, unless they are empty", async () => {
        const { client: machine } = await addUser(root);
        const { publicKey } = machine.key;
        await set(allow(HERE));
        await set({ publicKey, rules: [{ cidr: ELSEWHERE }] });
        assert.equal((await whoamiFrom(ELSEWHERE, {}, machine)).status, 200);
        assertRefused(await whoamiFrom(HERE, {}, machine), HERE);
        assert.equal((await whoamiFrom(HERE)).status, 200);
        await set({ publicKey, rules: [] });
        assert.equal((await whoamiFrom(HERE, {}, machine)).status, 200);
        assertRefused(await whoamiFrom(ELSEWHERE, {}, machine), ELSEWHERE);
        await set({ publicKey, enabled: true, rules: [{ cidr: ELSEWHERE }] });
        await root.result("remove_ip_allowlist", { publicKey });
        assert.equal((await whoamiFrom(HERE, {}, machine)).status, 200);
      });

      it("mean nothing while the organization's is not enabled", async () => {
        const { client: machine } = await addUser(root);
        await set({ publicKey: machine.key.publicKey, rules: [{ cidr: ELSEWHERE }] });
        assert.equal((await whoamiFrom(HERE, {}, machine)).status, 200);
        await set({ enabled: false, rules: [{ cidr: HERE }] });
        assert.equal((await whoamiFrom(HERE, {}, machine)).status, 200);
        await set(allow(HERE));
        assertRefused(await whoamiFrom(HERE, {}, machine), HERE);
      });

      it("go with the key", async () => {
        const key = generateApiKey();
        const { userId } = world.user;
        const add = async () =>
          (await root.result("create_api_keys", { apiKeys: [apiKeyParams(key)], userId })).apiKeyIds;
        const apiKeyIds = await add();
        await set({ publicKey: key.publicKey, rules: [{ cidr: ELSEWHERE }] });
        await root.result("delete_api_keys", { userId, apiKeyIds });
        await add();
        assert.deepEqual((await get({ publicKey: key.publicKey })).rules, []);
      });
    });

    describe("behind a proxy", () => {
      const through = (forwardedFor: string | string[], from = PROXY) =>
        whoamiFrom(from, { "x-forwarded-for": forwardedFor });

      before(async () => assert.equal((await through("203.0.113.7")).status, 200));

      it("see the client that a trusted proxy tells of, and none that the client tells of", async () => {
        await set(allow("203.0.113.7"));
        assert.equal((await through("203.0.113.7")).status, 200);
        assert.equal((await through(`203.0.113.7, ${OUTER_PROXY}`)).status, 200);
        assert.equal((await through(["203.0.113.7", OUTER_PROXY])).status, 200, "in two headers");
        assert.equal((await through("203.0.113.7:51234")).status, 200);
        assert.equal((await through("::ffff:203.0.113.7")).status, 200);
        assert.equal((await through("[::ffff:203.0.113.7]:443")).status, 200);
        assertRefused(await through("203.0.113.7", HERE), HERE);
        assertRefused(await through("203.0.113.7", "::1"), "::1");
        assertRefused(await through("203.0.113.7, 198.51.100.1"), "198.51.100.1");
        assertRefused(await through(["203.0.113.7", "198.51.100.1"]), "198.51.100.1");
        assertRefused(await through(`203.0.113.7, 198.51.100.1, ${OUTER_PROXY}`), "198.51.100.1");
        assertRefused(await through(`203.0.113.7, 2001:db8::1`), "2001:db8::1");
        assertRefused(await whoamiFrom(PROXY), PROXY);
      });

      it("do not know the client where the proxy's word is no address, and then do as they are told", async () => {
        const unknown = ["", "unknown", "203.0.113.7, unknown", "203.0.113.7,", "0xcb007107", "203.0.113.7;"];
        const tooLong = Array.from({ length: 40 }, () => PROXY).join(",");
        await set(allow("203.0.113.7"));
        for (const word of [...unknown, tooLong])
          assertRefused(await through(word), "of the request, which is not known,");
        await clear();
        await set({ ...allow("203.0.113.7"), onEvaluationError: "ALLOW" });
        for (const word of [...unknown, tooLong]) assert.equal((await through(word)).status, 200, word);
        assertRefused(await through("198.51.100.1"), "198.51.100.1");
        await clear();
        await set({ enabled: true, onEvaluationError: "ALLOW" });
        assertRefused(await through("unknown"), "of the request, which is not known,");
      });
    });

    describe("and sub-organizations", () => {
      let sub: Client;
      before(async () => {
        sub = (await addSubOrganization(root)).client;
      });

      it("which can have none", async () => {
        for (const path of ["set_ip_allowlist", "remove_ip_allowlist"]) {
          const { status, body } = await sub.submit(path, {});
          assert.equal(status, 400, path);
          assert.match(body.message, /for parent organizations alone/);
        }
        assert.equal((await sub.query("get_ip_allowlist")).status, 400);
      });

      it("whose own keys are free, while the parent's keys are bound there too", async () => {
        await set(allow(HERE));
        assert.equal((await whoamiFrom(ELSEWHERE, {}, sub)).status, 200);
        const parentInSub = root.with({ organizationId: sub.organizationId });
        assert.equal((await whoamiFrom(HERE, {}, parentInSub)).status, 200);
        assertRefused(await whoamiFrom(ELSEWHERE, {}, parentInSub), ELSEWHERE);
      });
    });

    it("are asked again inside the transaction: one that is set meanwhile counts", async () => {
      const { signer } = server.opened;
      const ask = signer.ask.bind(signer) as (...args: unknown[]) => Promise<never>;
      const asked = mock.method(
        signer,
        "ask",
        async (...args: unknown[]) => {
          await set(allow(HERE));
          return ask(...args);
        },
        { times: 1 },
      );
      const privateKeys = [
        { privateKeyName: "too late", curve: "CURVE_ED25519", privateKeyTags: [], addressFormats: [] },
      ];
      const answer = await submitFrom(ELSEWHERE, "create_private_keys", { privateKeys });
      asked.mock.restore();
      assert.equal(asked.mock.callCount(), 1, "the stamp was accepted before");
      assertRefused(answer, ELSEWHERE);
      assert.deepEqual((await root.read("list_private_keys")).privateKeys, []);
    });

    it("bind from the commit on, whatever is on its way: nothing is carried out beside them", async () => {
      const rename = (turn: number) =>
        submitFrom(ELSEWHERE, "create_user_tag", { userTagName: `race ${engine} ${turn}`, userIds: [] });
      const racing = Promise.all(Array.from({ length: 24 }, (_, turn) => rename(turn)));
      const setting = set(allow(HERE));
      const answers = await racing;
      await setting;
      for (const answer of answers) {
        if (answer.status !== 200) assertRefused(answer, ELSEWHERE);
      }
      const { activities } = await root.read("list_activities", {
        filterByType: ["ACTIVITY_TYPE_CREATE_USER_TAG", "ACTIVITY_TYPE_SET_IP_ALLOWLIST"],
        paginationOptions: { limit: "100" },
      });
      const made = activities.filter(({ intent }: Json) =>
        intent.createUserTagIntent?.userTagName.startsWith(`race ${engine}`),
      );
      assert.equal(made.length, answers.filter(({ status }) => status === 200).length);
      const { userTags } = await root.read("list_user_tags");
      const names = userTags.filter(({ tagName }: Json) => tagName.startsWith(`race ${engine}`));
      assert.equal(names.length, made.length);
      assertRefused(await rename(99), ELSEWHERE);
    });
  });
}
