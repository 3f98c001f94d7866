import assert from "node:assert/strict";
import { it } from "node:test";
import { newId } from "../../src/kernel/ids.ts";
import { addUser, apiKeyParams, type Client, generateApiKey, type Json } from "../support/client.ts";
import { issuerOfTests, oauthProviderParams } from "../support/issuer.ts";
import { leavesAccounts } from "../support/provenance.ts";
import { onEachEngine } from "../support/server.ts";

const claimsOf = async (sub: string, aud: string) => ({ iss: (await issuerOfTests()).url, sub, aud });
const byClaims = async (sub: string, aud: string) => ({ providerName: aud, oidcClaims: await claimsOf(sub, aud) });
const ofUser = async (client: Client, userId: string) =>
  (await client.read("get_oauth_providers", { userId })).oauthProviders as Json[];

onEachEngine("OAuth providers", (server) => {
  it("are made of what verified tokens say, and shown by user and by organization", async () => {
    const { root } = server();
    const { userId } = await addUser(root);
    const sub = newId();
    const oauthProviders = [
      await oauthProviderParams(sub),
      await byClaims(sub, "phone"),
      await byClaims(sub, "tablet"),
    ];
    const { providerIds } = await root.result("create_oauth_providers", { userId, oauthProviders });
    const shown = await ofUser(root, userId);
    assert.deepEqual(
      shown.map(({ providerId, issuer, subject, audience }) => ({ providerId, issuer, subject, audience })),
      ["app", "phone", "tablet"].map((audience, index) => ({
        providerId: providerIds[index],
        issuer: (oauthProviders[1] as Json).oidcClaims.iss,
        subject: sub,
        audience,
      })),
    );
    assert.deepEqual((await root.read("get_user", { userId })).user.oauthProviders, shown);
    const all = (await root.read("get_oauth_providers")).oauthProviders as Json[];
    assert.ok(shown.every((provider) => all.some(({ providerId }) => providerId === provider.providerId)));
    assert.equal((await root.query("get_oauth_providers", { userId: newId() })).status, 404);
  });

  it("of the first version take tokens alone", async () => {
    const { root } = server();
    const { userId } = await addUser(root);
    const parameters = { userId, oauthProviders: [await oauthProviderParams()] };
    const type = { type: "ACTIVITY_TYPE_CREATE_OAUTH_PROVIDERS" };
    const answer = await root.submit("create_oauth_providers", parameters, type);
    assert.deepEqual(Object.keys(answer.body.activity.result), ["createOauthProvidersResult"]);
    const claims = { userId, oauthProviders: [await byClaims(newId(), "app")] };
    assert.equal((await root.submit("create_oauth_providers", claims, type)).status, 400);
  });

  it("by claims alone need a provider of the same issuer and subject that this very user has", async () => {
    const { root } = server();
    const [ada, eve] = [await addUser(root), await addUser(root)];
    const sub = newId();
    const phone = await byClaims(sub, "phone");
    const add = (userId: string, ...oauthProviders: object[]) =>
      root.submit("create_oauth_providers", { userId, oauthProviders });
    assert.equal((await add(ada.userId, phone)).status, 400);
    assert.equal((await add(ada.userId, await oauthProviderParams(sub))).status, 200);
    for (const answer of [await add(eve.userId, phone), await add(ada.userId, await byClaims(newId(), "phone"))]) {
      assert.equal(answer.status, 400);
      assert.match(answer.body.message, /`parameters\.oauthProviders\.0\.oidcClaims` needs proof/);
    }
    assert.equal((await add(ada.userId, phone)).status, 200);
    assert.equal((await ofUser(root, ada.userId)).length, 2);
    assert.deepEqual(await ofUser(root, eve.userId), []);
  });

  it("are one for each issuer, subject and audience, and ten of a user", async () => {
    const { root } = server();
    const [ada, eve] = [await addUser(root), await addUser(root)];
    const sub = newId();
    const add = (userId: string, ...oauthProviders: object[]) =>
      root.submit("create_oauth_providers", { userId, oauthProviders });
    assert.equal((await add(ada.userId, await oauthProviderParams(sub))).status, 200);
    for (const answer of [
      await add(ada.userId, await byClaims(sub, "app")),
      await add(eve.userId, await oauthProviderParams(sub)),
      await add(eve.userId, await oauthProviderParams(`${sub} again`), await byClaims(`${sub} again`, "app")),
    ]) {
      assert.equal(answer.status, 409, JSON.stringify(answer.body));
      assert.equal(answer.body.turnkeyErrorCode, "OAUTH_PROVIDER_ALREADY_EXISTS");
    }
    const more = await Promise.all(Array.from({ length: 9 }, (_, index) => byClaims(sub, `app ${index}`)));
    assert.equal((await add(ada.userId, ...more)).status, 200);
    assert.equal((await add(ada.userId, await byClaims(sub, "one more"))).status, 429);
    assert.deepEqual(await ofUser(root, eve.userId), []);
  });

  it("are refused for tokens that do not verify, and nothing is stored", async () => {
    const { root } = server();
    const { userId } = await addUser(root);
    const issuer = await issuerOfTests();
    const now = Math.floor(Date.now() / 1000);
    const token = await issuer.token();
    const forged = `${token.slice(0, token.lastIndexOf("."))}.${"A".repeat(86)}`;
    const refused = [
      forged,
      await issuer.token({ exp: now - 61 }),
      await issuer.token({ aud: ["a", "b"] }),
      "e30.e30.",
    ];
    for (const oidcToken of refused) {
      const oauthProviders = [await oauthProviderParams(), { providerName: "Issuer", oidcToken }];
      const answer = await root.submit("create_oauth_providers", { userId, oauthProviders });
      assert.equal(answer.status, 400);
      assert.equal(answer.body.turnkeyErrorCode, "INVALID_OIDC_TOKEN");
      assert.match(answer.body.message, /`parameters\.oauthProviders\.1\.oidcToken`/);
    }
    assert.deepEqual(await ofUser(root, userId), []);
  });

  it("of others are not a plain user's to manage, their own are", async () => {
    const { root } = server();
    const [ada, eve] = [await addUser(root), await addUser(root)];
    const oauthProviders = [await oauthProviderParams()];
    assert.equal(
      (await eve.client.submit("create_oauth_providers", { userId: ada.userId, oauthProviders })).status,
      403,
    );
    const { providerIds } = await ada.client.result("create_oauth_providers", { userId: ada.userId, oauthProviders });
    assert.equal((await eve.client.submit("delete_oauth_providers", { userId: ada.userId, providerIds })).status, 403);
    await ada.client.result("delete_oauth_providers", { userId: ada.userId, providerIds });
    assert.deepEqual(await ofUser(root, ada.userId), []);
  });

  it("are deleted together or not at all, and leave the user a way in", async () => {
    const { root } = server();
    const nothing = { apiKeys: [], authenticators: [], userTags: [] };
    const sub = newId();
    const user = { ...nothing, userName: "By OAuth", oauthProviders: [await oauthProviderParams(sub)] };
    const [userId] = (await root.result("create_users", { users: [user] })).userIds;
    const [{ providerId }] = (await ofUser(root, userId)) as [Json];
    const remove = (...providerIds: string[]) => root.submit("delete_oauth_providers", { userId, providerIds });
    assert.equal((await remove(providerId, newId())).status, 404);
    const last = await remove(providerId);
    assert.equal(last.status, 400);
    assert.match(last.body.message, new RegExp(`^user missing valid credential: ${userId}; `));
    const expiring = apiKeyParams(generateApiKey(), { expirationSeconds: "60" });
    await root.result("create_api_keys", { userId, apiKeys: [expiring] });
    assert.equal((await remove(providerId)).status, 400);
    await root.result("create_oauth_providers", { userId, oauthProviders: [await byClaims(sub, "phone")] });
    assert.equal((await remove(providerId)).status, 200);
    await root.result("create_api_keys", { userId, apiKeys: [apiKeyParams(generateApiKey())] });
    const [{ providerId: other }] = (await ofUser(root, userId)) as [Json];
    assert.equal((await remove(other)).status, 200);
    assert.deepEqual(await ofUser(root, userId), []);
  });

  it("are made once for one body, although the token is verified only then", async () => {
    const { root } = server();
    const { userId } = await addUser(root);
    const body = root.submitBody("create_oauth_providers", { userId, oauthProviders: [await oauthProviderParams()] });
    const answers = await Promise.all([1, 2, 3].map(() => root.post("/public/v1/submit/create_oauth_providers", body)));
    assert.equal(new Set(answers.map((answer) => JSON.stringify(answer.body.activity.result))).size, 1);
    assert.equal((await ofUser(root, userId)).length, 1);
  });

  leavesAccounts(server);
});
