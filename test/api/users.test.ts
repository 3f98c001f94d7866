import assert from "node:assert/strict";
import { it } from "node:test";
import { newId } from "../../src/kernel/ids.ts";
import { createAuthenticator } from "../support/authenticator.ts";
import { addUser, apiKeyParams, generateApiKey, type Json } from "../support/client.ts";
import { issuerOfTests, oauthProviderParams } from "../support/issuer.ts";
import { onEachEngine } from "../support/server.ts";

const none = { apiKeys: [], authenticators: [], oauthProviders: [], userTags: [] };
const site = { origin: "https://wallet.example", rpId: "wallet.example" };

onEachEngine("users", (server) => {
  it("are created with everything they may have", async () => {
    const { root } = server();
    const { userTagId } = await root.result("create_user_tag", { userTagName: "vip", userIds: [] });
    const key = generateApiKey();
    const challengeBytes = Buffer.from("a challenge");
    const challenge = challengeBytes.toString("base64url");
    const attestation = createAuthenticator().attest({ challenge: challengeBytes, ...site, format: "packed-self" });
    const user = {
      userName: "Ada",
      userEmail: "ada@example.com",
      userPhoneNumber: "+14155550123",
      apiKeys: [apiKeyParams(key)],
      authenticators: [{ authenticatorName: "phone", challenge, attestation }],
      oauthProviders: [await oauthProviderParams("1")],
      userTags: [userTagId],
    };
    const { userIds } = await root.result("create_users", { users: [user] });
    const shown = (await root.read("get_user", { userId: userIds[0] })).user;
    assert.equal(shown.userEmail, "ada@example.com");
    assert.equal(shown.userPhoneNumber, "+14155550123");
    assert.deepEqual(shown.userTags, [userTagId]);
    assert.equal(shown.authenticators[0].attestationType, "packed");
    assert.equal(shown.oauthProviders[0].subject, "1");
    assert.deepEqual(shown.mfaPolicies, []);
    const listed = (await root.read("list_users")).users.find(({ userId }: Json) => userId === userIds[0]);
    assert.deepEqual(listed, shown);
    assert.equal((await root.with({ key }).read("whoami")).username, "Ada");
  });

  it("of older versions upgrade to the newest", async () => {
    const { root } = server();
    const apiKeys = () => [{ apiKeyName: "k", publicKey: generateApiKey().publicKey }];
    const versions: [string, object][] = [
      ["", { userName: "V1", accessType: "ACCESS_TYPE_API", apiKeys: apiKeys(), authenticators: [], userTags: [] }],
      ["_V2", { userName: "V2", apiKeys: apiKeys(), authenticators: [], userTags: [] }],
      ["_V3", { ...none, userName: "V3", userPhoneNumber: "+14155550124", apiKeys: [apiKeyParams(generateApiKey())] }],
    ];
    for (const [suffix, user] of versions) {
      const type = `ACTIVITY_TYPE_CREATE_USERS${suffix}`;
      const { body, status } = await root.submit("create_users", { users: [user] }, { type });
      assert.equal(status, 200, JSON.stringify(body));
      assert.equal(body.activity.type, type);
      assert.deepEqual(body.activity.intent, { [`createUsersIntent${suffix.replace("_", "")}`]: { users: [user] } });
      assert.deepEqual(Object.keys(body.activity.result), ["createUsersResult"]);
    }
    const apiOnly = { userName: "Robot", userTags: [], apiKeys: apiKeys() };
    const { userIds } = await root.result("create_api_only_users", { apiOnlyUsers: [apiOnly] });
    assert.equal((await root.read("get_user", { userId: userIds[0] })).user.userName, "Robot");
  });

  it("need a way in", async () => {
    const { root } = server();
    const expiring = [apiKeyParams(generateApiKey(), { expirationSeconds: "60" })];
    for (const user of [
      { ...none, userName: "Locked out" },
      { ...none, userName: "Locked out", apiKeys: expiring },
    ]) {
      const answer = await root.submit("create_users", { users: [user] });
      assert.equal(answer.status, 400);
      assert.match(answer.body.message, /^user missing valid credential: Locked out; /);
    }
    await root.result("create_users", { users: [{ ...none, userName: "By mail", userEmail: "by@example.com" }] });
  });

  it("are created together or not at all", async () => {
    const { root } = server();
    const before = (await root.read("list_users")).users.length;
    const good = { ...none, userName: "Good", apiKeys: [apiKeyParams(generateApiKey())] };
    const bad = { ...good, userName: "Bad", apiKeys: [apiKeyParams(generateApiKey())], userTags: [newId()] };
    assert.equal((await root.submit("create_users", { users: [good, bad] })).status, 404);
    assert.equal((await root.read("list_users")).users.length, before);
  });

  it("are renamed and changed; what is not given stays", async () => {
    const { root } = server();
    const { userId } = await addUser(root, "Old name");
    await root.result("update_user", { userId, userEmail: "new@example.com" });
    await root.result("update_user_name", { userId, userName: "New name" });
    const { user } = await root.read("get_user", { userId });
    assert.equal(user.userName, "New name");
    assert.equal(user.userEmail, "new@example.com");
    for (const bad of [{ userEmail: "no" }, { userPhoneNumber: "123" }, { userName: " " }, { userName: "a\nb" }]) {
      const answer = await root.submit("update_user", { userId, ...bad });
      assert.equal(answer.status, 400, JSON.stringify(bad));
      assert.match(answer.body.message, new RegExp(Object.keys(bad)[0] as string));
    }
    assert.equal((await root.submit("update_user_name", { userId: newId(), userName: "x" })).status, 404);
  });

  it("stay in the votes they cast after they are deleted", async () => {
    const { root } = server();
    const { userId, client } = await addUser(root, "Leaver");
    const answer = await client.submit("update_organization_name", { organizationName: "x" });
    assert.equal(answer.status, 403);
    await root.result("delete_users", { userIds: [userId] });
    const { activities } = await root.read("list_activities", { filterByStatus: ["ACTIVITY_STATUS_REJECTED"] });
    const vote = activities[0].votes[0];
    assert.equal(vote.userId, userId);
    assert.equal(vote.user.userName, "Leaver");
    assert.deepEqual(vote.user.apiKeys, []);
    assert.equal((await root.query("get_user", { userId })).status, 404);
  });

  it("with OAuth providers that nobody has shown are refused", async () => {
    const { root } = server();
    const { url: iss } = await issuerOfTests();
    const oidcClaims = { iss, sub: "somebody", aud: "app" };
    const refused = {
      "an OIDC token": [{ providerName: "idp", oidcToken: "e30" }],
      "needs proof": [await oauthProviderParams("somebody else"), { providerName: "idp", oidcClaims }],
      "as the `oidcToken` next to it": [await oauthProviderParams("somebody else", { oidcClaims })],
      "missing field": [{ providerName: "idp" }],
    };
    for (const [reason, oauthProviders] of Object.entries(refused)) {
      const user = { ...none, userName: "Token", oauthProviders };
      const answer = await root.submit("create_users", {
        users: [{ ...none, userName: "First", userEmail: "a@b.example" }, user],
      });
      assert.equal(answer.status, 400, JSON.stringify(answer.body));
      assert.match(answer.body.message, /parameters\.users\.1\.oauthProviders\.\d\.oidc(Token|Claims)/);
      assert.ok(reason === "an OIDC token" || answer.body.message.includes(reason), answer.body.message);
    }
    const tooMany = Array.from({ length: 11 }, () => ({ providerName: "idp", oidcClaims }));
    const user = { ...none, userName: "Token", oauthProviders: tooMany };
    assert.equal((await root.submit("create_users", { users: [user] })).status, 429);
  });

  it("are limited to a hundred", async () => {
    const { root } = server();
    const count = (await root.read("list_users")).users.length;
    const users = (howMany: number) =>
      Array.from({ length: howMany }, (_, i) => ({ ...none, userName: `u${i}`, userEmail: `u${i}@example.com` }));
    const tooMany = await root.submit("create_users", { users: users(101 - count) });
    assert.equal(tooMany.status, 429);
    assert.match(tooMany.body.message, /over its allotted quota/);
    await root.result("create_users", { users: users(100 - count) });
    assert.equal((await root.read("list_users")).users.length, 100);
  });
});
