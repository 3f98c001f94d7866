import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { newId } from "../../src/kernel/ids.ts";
import { addUser, apiKeyParams, generateApiKey, type Json } from "../support/client.ts";
import { engines, onEachEngine, startTestServer } from "../support/server.ts";

onEachEngine("credentials", (server) => {
  it("are shown by id, by user and by organization", async () => {
    const { root } = server();
    const { userId } = await addUser(root);
    const key = generateApiKey();
    const params = apiKeyParams(key, { apiKeyName: "laptop", expirationSeconds: "3600" });
    const { apiKeyIds } = await root.result("create_api_keys", { userId, apiKeys: [params] });
    const { apiKey } = await root.read("get_api_key", { apiKeyId: apiKeyIds[0] });
    assert.equal(apiKey.apiKeyName, "laptop");
    assert.equal(apiKey.expirationSeconds, "3600");
    assert.deepEqual(apiKey.credential, { publicKey: key.publicKey, type: "CREDENTIAL_TYPE_API_KEY_P256" });
    const ofUser = (await root.read("get_api_keys", { userId })).apiKeys;
    assert.equal(ofUser.length, 2);
    assert.ok((await root.read("get_api_keys")).apiKeys.length > 2);
    const { user } = await root.read("get_user", { userId });
    assert.deepEqual(user.apiKeys, ofUser);
    assert.equal((await root.query("get_api_key", { apiKeyId: newId() })).status, 404);
    assert.equal((await root.query("get_api_keys", { userId: newId() })).status, 404);
    assert.deepEqual((await root.read("get_authenticators", { userId })).authenticators, []);
  });

  it("of the first version are P-256 keys", async () => {
    const { root } = server();
    const { userId } = await addUser(root);
    const { publicKey } = generateApiKey();
    const parameters = { userId, apiKeys: [{ apiKeyName: "old", publicKey }] };
    const answer = await root.submit("create_api_keys", parameters, { type: "ACTIVITY_TYPE_CREATE_API_KEYS" });
    assert.equal(answer.status, 200);
    assert.deepEqual(answer.body.activity.intent, { createApiKeysIntent: parameters });
    assert.deepEqual(Object.keys(answer.body.activity.result), ["createApiKeysResult"]);
  });

  it("leave a user one that lasts", async () => {
    const { root } = server();
    const { userId } = await addUser(root);
    const { apiKeys } = await root.read("get_api_keys", { userId });
    const expiring = apiKeyParams(generateApiKey(), { expirationSeconds: "60" });
    const { apiKeyIds } = await root.result("create_api_keys", { userId, apiKeys: [expiring] });
    const last = await root.submit("delete_api_keys", { userId, apiKeyIds: [apiKeys[0].apiKeyId] });
    assert.equal(last.status, 400);
    assert.match(last.body.message, new RegExp(`^user missing valid credential: ${userId}; a passkey or an API key`));
    assert.equal((await root.read("get_api_keys", { userId })).apiKeys.length, 2);
    assert.deepEqual(await root.result("delete_api_keys", { userId, apiKeyIds }), { apiKeyIds });
  });

  it("are deleted together or not at all, and only of the user named", async () => {
    const { root } = server();
    const { userId } = await addUser(root);
    const other = await addUser(root);
    const keys = [apiKeyParams(generateApiKey()), apiKeyParams(generateApiKey())];
    const { apiKeyIds } = await root.result("create_api_keys", { userId, apiKeys: keys });
    const otherKeys = (await root.read("get_api_keys", { userId: other.userId })).apiKeys;
    for (const foreign of [newId(), otherKeys[0].apiKeyId]) {
      const answer = await root.submit("delete_api_keys", { userId, apiKeyIds: [...apiKeyIds, foreign] });
      assert.equal(answer.status, 404);
      assert.match(answer.body.message, new RegExp(foreign));
    }
    assert.equal((await root.read("get_api_keys", { userId })).apiKeys.length, 3);
  });

  it("are one a key: the same public key twice is a conflict", async () => {
    const { root } = server();
    const { userId } = await addUser(root);
    const params = apiKeyParams(generateApiKey());
    await root.result("create_api_keys", { userId, apiKeys: [params] });
    const again = await root.submit("create_api_keys", { userId, apiKeys: [params] });
    assert.equal(again.status, 409);
    assert.match(again.body.message, /parameters\.apiKeys\.0\.publicKey/);
    const upper = { ...params, publicKey: (params as Json).publicKey.toUpperCase() };
    assert.equal((await root.submit("create_api_keys", { userId, apiKeys: [upper] })).status, 409);
    const fresh = apiKeyParams(generateApiKey());
    const twice = await root.submit("create_api_keys", { userId, apiKeys: [fresh, fresh] });
    assert.equal(twice.status, 400);
    assert.match(twice.body.message, /parameters\.apiKeys\.1\.publicKey/);
  });

  it("must be keys of their curve", async () => {
    const { root } = server();
    const { userId } = await addUser(root);
    const { publicKey } = generateApiKey();
    const offCurve = `02${"ff".repeat(32)}`;
    for (const bad of [publicKey.slice(2), `04${publicKey.slice(2)}`, offCurve, "zz", `0x${publicKey}`]) {
      const apiKeys = [apiKeyParams(generateApiKey()), apiKeyParams({ publicKey: bad, privateKey: "" })];
      const answer = await root.submit("create_api_keys", { userId, apiKeys });
      assert.equal(answer.status, 400, bad);
      assert.match(answer.body.message, /`parameters\.apiKeys\.1\.publicKey` must be a compressed public key/);
    }
    assert.equal((await root.read("get_api_keys", { userId })).apiKeys.length, 1);
  });

  it("are limited: lasting keys are refused, expiring ones push out the oldest", async () => {
    const { root } = server();
    const { userId } = await addUser(root);
    const make = (count: number, more: object = {}) =>
      Array.from({ length: count }, () => apiKeyParams(generateApiKey(), more));
    const tooMany = await root.submit("create_api_keys", { userId, apiKeys: make(10) });
    assert.equal(tooMany.status, 429);
    assert.match(tooMany.body.message, /user has exceeded maximum long-lived api keys/);
    await root.result("create_api_keys", { userId, apiKeys: make(9) });
    const first = await root.result("create_api_keys", { userId, apiKeys: make(10, { expirationSeconds: "900" }) });
    const next = await root.result("create_api_keys", { userId, apiKeys: make(1, { expirationSeconds: "900" }) });
    const ids = (await root.read("get_api_keys", { userId })).apiKeys.map(({ apiKeyId }: Json) => apiKeyId);
    assert.equal(ids.length, 20);
    assert.ok(!ids.includes(first.apiKeyIds[0]));
    assert.ok(ids.includes(first.apiKeyIds[1]) && ids.includes(next.apiKeyIds[0]));
  });

  it("of others are not a plain user's to manage, their own are", async () => {
    const { root } = server();
    const { userId, client } = await addUser(root);
    const other = await addUser(root);
    const apiKeys = [apiKeyParams(generateApiKey())];
    assert.equal((await client.submit("create_api_keys", { userId: other.userId, apiKeys })).status, 403);
    const { apiKeyIds } = await client.result("create_api_keys", { userId, apiKeys });
    await client.result("delete_api_keys", { userId, apiKeyIds });
  });
});

for (const engine of engines) {
  describe(`an expiring API key (${engine})`, () => {
    it("stamps until its time and not after", async () => {
      let now = Date.now();
      const server = await startTestServer(engine, { clock: () => now });
      try {
        const { userId } = await server.root.read("whoami");
        const key = generateApiKey();
        const params = apiKeyParams(key, { expirationSeconds: "60" });
        const options = { timestampMs: String(now) };
        await server.root.result("create_api_keys", { userId, apiKeys: [params] }, options);
        const client = server.root.with({ key });
        assert.equal((await client.query("whoami")).status, 200);
        now += 60_000;
        const answer = await client.query("whoami");
        assert.equal(answer.status, 401);
        assert.equal(answer.body.turnkeyErrorCode, "API_KEY_EXPIRED");
        assert.match(answer.body.message, /Unauthenticated desc = expired api key publicKey/);
      } finally {
        await server.close();
      }
    });
  });
}
