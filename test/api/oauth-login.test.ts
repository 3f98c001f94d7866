import assert from "node:assert/strict";
import { it } from "node:test";
import { decryptCredentialBundle, verifySessionJwtSignature } from "@turnkey/crypto";
import { newId } from "../../src/kernel/ids.ts";
import { nonceOfPublicKey } from "../../src/providers/oidc/nonce.ts";
import { exportTarget } from "../support/bundles.ts";
import { addUser, apiKeyParams, type Client, generateApiKey, type Json } from "../support/client.ts";
import { issuerOfTests, oauthProviderParams, startIssuer } from "../support/issuer.ts";
import { leavesAccounts } from "../support/provenance.ts";
import { startRealIssuer } from "../support/real-issuer.ts";
import { onEachEngine } from "../support/server.ts";
import { addSubOrganization, createWorld, type Member } from "../support/world.ts";

/** A token for this key, as an app asks the issuer of all tests for it. */
const tokenFor = async (publicKey: string, claims: object): Promise<string> =>
  (await issuerOfTests()).token({ nonce: nonceOfPublicKey(publicKey), ...claims });

const keysOf = async ({ client, userId }: Member): Promise<Json[]> =>
  (await client.read("get_user", { userId })).user.apiKeys;

onEachEngine("signing in by an OIDC token", (server) => {
  /** A parent, and a sub-organization whose root user the issuer knows as `sub`. */
  const family = async () => {
    const { root } = await createWorld(server());
    const user = await addSubOrganization(root.client);
    const sub = newId();
    const oauthProviders = [await oauthProviderParams(sub)];
    const { userId } = user;
    const { providerIds } = await user.client.result("create_oauth_providers", { userId, oauthProviders });
    const inSub = root.client.with({ organizationId: user.client.organizationId });
    return { parent: root.client, inSub, user, sub, providerId: providerIds[0] as string };
  };
  const login = async (client: Client, claims: object, key = generateApiKey()) => {
    const { publicKey } = key;
    return client.submit("oauth_login", { oidcToken: await tokenFor(publicKey, claims), publicKey });
  };

  it("finds the sub-organization where the parent alone is named, and none where two are meant", async () => {
    const { parent, user, sub } = await family();
    const { organizationId } = user.client;
    const session = generateApiKey();
    const { status, body } = await login(parent, { sub }, session);
    assert.equal(status, 200, JSON.stringify(body));
    assert.equal(body.activity.organizationId, parent.organizationId);
    const inSub = user.client.with({ key: session });
    assert.deepEqual((await inSub.read("whoami")).organizationId, organizationId);
    const forged = (await tokenFor(session.publicKey, { sub })).split(".").with(2, "A".repeat(86)).join(".");
    const { publicKey } = generateApiKey();
    for (const oidcToken of [forged, await tokenFor(publicKey, { sub: newId() }), "no token"]) {
      const refused = await parent.submit("oauth_login", { oidcToken, publicKey });
      assert.equal(refused.status, 400);
      assert.equal(refused.body.turnkeyErrorCode, "INVALID_OIDC_TOKEN");
    }
    const stranger = (await createWorld(server())).root.client;
    assert.equal((await login(stranger, { sub })).status, 400, "those below another parent are not looked at");
    const second = await addSubOrganization(parent);
    const oauthProviders = [await oauthProviderParams(sub)];
    await second.client.result("create_oauth_providers", { userId: second.userId, oauthProviders });
    const conflict = await login(parent, { sub });
    assert.equal(conflict.status, 401);
    assert.equal(conflict.body.turnkeyErrorCode, "CREDENTIAL_CONFLICT");
    const own = await addUser(parent);
    await parent.result("create_oauth_providers", { userId: own.userId, oauthProviders });
    const ofParent = generateApiKey();
    assert.equal((await login(parent, { sub }, ofParent)).status, 200);
    assert.equal((await parent.with({ key: ofParent }).read("whoami")).userId, own.userId, "the parent's own first");
  });

  it("fails, and the vote on it stands, where two are meant by the time that it is carried out", async () => {
    const { root, quorumOfTwo } = await createWorld(server());
    const sub = newId();
    const oauthProviders = [await oauthProviderParams(sub)];
    const link = ({ client, userId }: Member) => client.result("create_oauth_providers", { userId, oauthProviders });
    const [one, another] = [await addSubOrganization(root.client), await addSubOrganization(root.client)];
    const second = await quorumOfTwo();
    await link(one);
    const waiting = await login(root.client, { sub });
    assert.equal(waiting.body.activity.status, "ACTIVITY_STATUS_CONSENSUS_NEEDED", JSON.stringify(waiting.body));
    const unreadable = await root.client.submit("oauth_login", {
      oidcToken: "no token",
      publicKey: generateApiKey().publicKey,
    });
    await link(another);
    for (const [{ body }, reason] of [
      [waiting, /more than one suborg/],
      [unreadable, /must be a compact JWT/],
    ] as const) {
      const { fingerprint } = body.activity;
      const answer = await second.client.submit("approve_activity", { fingerprint });
      assert.equal(answer.body.activity?.status, "ACTIVITY_STATUS_FAILED", JSON.stringify(answer.body));
      assert.match(answer.body.activity.failure.message, reason);
    }
  });

  it("takes those of a real OpenID provider", async () => {
    const real = await startRealIssuer();
    try {
      const { root } = await createWorld(server());
      const oauthProviders = [{ providerName: "Real", oidcToken: await real.signIn("ada", "registration") }];
      const user = { userName: "Ada", apiKeys: [], authenticators: [], oauthProviders };
      const sub = await root.client.result("create_sub_organization", {
        subOrganizationName: "Ada's",
        rootUsers: [user],
        rootQuorumThreshold: 1,
      });
      const session = generateApiKey();
      const { publicKey } = session;
      const oidcToken = await real.signIn("ada", nonceOfPublicKey(publicKey));
      const inSub = root.client.with({ organizationId: sub.subOrganizationId });
      const { status, body } = await inSub.submit("oauth_login", { oidcToken, publicKey });
      assert.equal(status, 200, JSON.stringify(body));
      const ada = await inSub.with({ key: session }).read("whoami");
      assert.deepEqual([ada.userId, ada.organizationId], [sub.rootUserIds[0], sub.subOrganizationId]);
    } finally {
      await real.close();
    }
  });

  it("ends in a session that the published client verifies, asked for by the parent or by the user", async () => {
    const { parent, inSub, user, sub } = await family();
    const keys = (await (await fetch(`${server().baseUrl}/.well-known/keystead.json`)).json()) as Json;
    for (const client of [inSub, user.client]) {
      const session = generateApiKey();
      const { status, body } = await login(client, { sub }, session);
      assert.equal(status, 200, JSON.stringify(body));
      const token = body.activity.result.oauthLoginResult.session;
      assert.ok(await verifySessionJwtSignature(token, keys.serviceKeys.session[0].publicKey));
      const claims = JSON.parse(Buffer.from(token.split(".")[1], "base64url").toString());
      assert.deepEqual(
        [claims.user_id, claims.organization_id, claims.public_key, claims.session_type],
        [user.userId, user.client.organizationId, session.publicKey, "SESSION_TYPE_READ_WRITE"],
      );
      const asker = client === inSub ? parent : user.client;
      assert.equal(body.activity.organizationId, asker.organizationId, "who asked keeps the activity");
      assert.equal((await user.client.with({ key: session }).read("whoami")).userId, user.userId);
      const [key] = (await keysOf(user)).filter(({ credential }) => credential.publicKey === session.publicKey);
      assert.equal(key?.credential.type, "CREDENTIAL_TYPE_LOGIN");
      assert.match(key.apiKeyName, /^Login - 20\d\d-/);
      assert.equal(key.expirationSeconds, "900");
    }
  });

  it("with a target key ends in a bundle that the published client opens", async () => {
    const { inSub, user, sub } = await family();
    const { targetPublicKey, privateKey: targetKey } = exportTarget();
    const signIn = async (more: object = {}) => {
      const oidcToken = await tokenFor(targetPublicKey, { sub });
      const { status, body } = await inSub.submit("oauth", { oidcToken, targetPublicKey, ...more });
      assert.equal(status, 200, JSON.stringify(body));
      return body.activity.result.oauthResult;
    };
    const { userId, apiKeyId, credentialBundle } = await signIn();
    assert.equal(userId, user.userId);
    const key = (await keysOf(user)).find((each) => each.apiKeyId === apiKeyId) as Json;
    assert.equal(key.credential.type, "CREDENTIAL_TYPE_OAUTH_KEY_P256");
    assert.match(key.apiKeyName, /^Oauth - 20\d\d-\d\d-\d\dT/);
    const privateKey = decryptCredentialBundle(credentialBundle, targetKey);
    const session = user.client.with({ key: { publicKey: key.credential.publicKey, privateKey } });
    assert.equal((await session.read("whoami")).userId, userId);
    const next = await signIn({ apiKeyName: "Phone", expirationSeconds: "60", invalidateExisting: true });
    const ofType = (await keysOf(user)).filter(({ credential }) => credential.type === key.credential.type);
    assert.deepEqual(
      ofType.map((each) => [each.apiKeyId, each.apiKeyName, each.expirationSeconds]),
      [[next.apiKeyId, "Phone", "60"]],
    );
    assert.equal((await session.query("whoami")).status, 401);
  });

  it("serves again until the token expires, for its key alone", async () => {
    const { inSub, user, sub } = await family();
    const session = generateApiKey();
    const { publicKey } = session;
    const oidcToken = await tokenFor(publicKey, { sub });
    for (let count = 0; count < 2; count++) {
      assert.equal((await inSub.submit("oauth_login", { oidcToken, publicKey })).status, 200);
    }
    assert.equal((await keysOf(user)).length, 2, "the same key gives way to itself");
    const { status, body } = await inSub.submit("oauth_login", { oidcToken, publicKey: generateApiKey().publicKey });
    assert.equal(status, 400);
    assert.match(body.message, /`parameters\.oidcToken` is not bound to this public key/);
    const target = { oidcToken, targetPublicKey: exportTarget().targetPublicKey };
    assert.equal((await inSub.submit("oauth", target)).status, 400);
  });

  it("binds by the letters of the key as they were sent, in either claim", async () => {
    const { inSub, sub } = await family();
    const { publicKey } = generateApiKey();
    const letters = publicKey.toUpperCase();
    const lower = await tokenFor(publicKey, { sub });
    assert.equal((await inSub.submit("oauth_login", { oidcToken: lower, publicKey: letters })).status, 400);
    const upper = await tokenFor(letters, { sub, nonce: undefined, tknonce: nonceOfPublicKey(letters) });
    assert.equal((await inSub.submit("oauth_login", { oidcToken: upper, publicKey: letters })).status, 200);
  });

  it("refuses every other token and changes nothing", async () => {
    const { inSub, user, sub } = await family();
    const other = await family();
    const stranger = await startIssuer();
    try {
      const now = Math.floor(Date.now() / 1000);
      const before = await keysOf(user);
      const refused: [string, object | undefined, RegExp][] = [
        ["no nonce", { sub, nonce: undefined }, /not bound/],
        ["a wrong nonce", { sub, nonce: nonceOfPublicKey(generateApiKey().publicKey) }, /not bound/],
        ["another subject", { sub: newId() }, /belongs to nobody in this organization/],
        ["another organization's user", { sub: other.sub }, /belongs to nobody in this organization/],
        [
          "another audience",
          { sub, aud: "another-app" },
          /to nobody.*audience another-app\. Add one with create_oauth/,
        ],
        ["two audiences", { sub, aud: ["app", "another-app"] }, /one audience/],
        ["expired", { sub, exp: now - 61 }, /has expired/],
        ["another issuer's signature", { sub, iss: stranger.url }, /key that its issuer does not publish|signature/],
      ];
      for (const [what, claims, reason] of refused) {
        const { status, body } = await login(inSub, claims as object);
        assert.equal(status, 400, what);
        assert.equal(body.turnkeyErrorCode, "INVALID_OIDC_TOKEN", what);
        assert.match(body.message, reason, what);
      }
      const { publicKey } = generateApiKey();
      const oidcToken = await stranger.token({ sub, nonce: nonceOfPublicKey(publicKey) });
      const answer = await inSub.submit("oauth_login", { oidcToken, publicKey });
      assert.match(answer.body.message, /belongs to nobody in this organization/, "another issuer");
      const good = await tokenFor(publicKey, { sub });
      const forged = `${good.slice(0, good.lastIndexOf("."))}.${"A".repeat(86)}`;
      assert.equal((await inSub.submit("oauth_login", { oidcToken: forged, publicKey })).status, 400);
      const noPoint = `02${"ff".repeat(32)}`;
      const bad = await inSub.submit("oauth_login", {
        oidcToken: await tokenFor(noPoint, { sub }),
        publicKey: noPoint,
      });
      assert.match(bad.body.message, /`parameters\.publicKey` must be a point/);
      assert.deepEqual(await keysOf(user), before);
    } finally {
      await stranger.close();
    }
  });

  it("is not for plain users of the parent, other parents, or the sub-organization in the parent", async () => {
    const { parent, inSub, user, sub } = await family();
    const { organizationId } = inSub;
    const plain = (await addUser(parent)).client.with({ organizationId });
    assert.equal((await login(plain, { sub })).status, 403, "the parent's policies decide");
    const backend = await addUser(parent);
    await parent.result("create_policy", {
      policyName: "Backend signs users in",
      effect: "EFFECT_ALLOW",
      consensus: `approvers.any(user, user.id == '${backend.userId}')`,
      condition: "activity.type == 'ACTIVITY_TYPE_OAUTH_LOGIN'",
      notes: "",
    });
    const byPolicy = backend.client.with({ organizationId });
    assert.equal((await login(byPolicy, { sub })).status, 200);
    const { targetPublicKey } = exportTarget();
    const oidcToken = await tokenFor(targetPublicKey, { sub });
    assert.equal((await byPolicy.submit("oauth", { oidcToken, targetPublicKey })).status, 403);
    const stranger = (await createWorld(server())).root.client.with({ organizationId });
    assert.equal((await login(stranger, { sub })).status, 401);
    const upwards = user.client.with({ organizationId: parent.organizationId });
    assert.equal((await login(upwards, { sub })).status, 401);
    const atParent = await parent.submit("oauth", { oidcToken, targetPublicKey });
    assert.equal(atParent.status, 400, "the parent itself knows nobody by this token");
    assert.equal((await keysOf(user)).length, 2);
  });

  it("ends with the provider", async () => {
    const { inSub, user, sub, providerId } = await family();
    await user.client.result("delete_oauth_providers", { userId: user.userId, providerIds: [providerId] });
    const { status, body } = await login(inSub, { sub });
    assert.equal(status, 400);
    assert.match(body.message, /belongs to nobody in this organization/);
  });

  it("is a way in for users of sub-organizations, who may delete their other credentials", async () => {
    const { inSub, user, sub, providerId } = await family();
    const { userId } = user;
    const [{ apiKeyId }] = (await keysOf(user)) as [Json];
    await user.client.result("delete_api_keys", { userId, apiKeyIds: [apiKeyId] });
    const session = generateApiKey();
    assert.equal((await login(inSub, { sub }, session)).status, 200);
    const signedIn = user.client.with({ key: session });
    const last = await signedIn.submit("delete_oauth_providers", { userId, providerIds: [providerId] });
    assert.equal(last.status, 400);
    assert.match(last.body.message, /user missing valid credential/);
  });

  it("is none in a parent, where nobody else need bring a token", async () => {
    const { root } = await createWorld(server());
    const { userId } = await addUser(root.client);
    await root.client.result("create_oauth_providers", { userId, oauthProviders: [await oauthProviderParams()] });
    const [{ apiKeyId }] = (await keysOf({ ...root, userId })) as [Json];
    const answer = await root.client.submit("delete_api_keys", { userId, apiKeyIds: [apiKeyId] });
    assert.equal(answer.status, 400);
    assert.match(answer.body.message, /user missing valid credential/);
  });

  it("does not make a root quorum: its members need what they sign with by themselves", async () => {
    const { user } = await family();
    const oauthProviders = [await oauthProviderParams()];
    const nothing = { apiKeys: [], authenticators: [], userTags: [] };
    const second = { ...nothing, userName: "By OAuth", oauthProviders };
    const { userIds } = await user.client.result("create_users", { users: [second] });
    const quorum = { threshold: 2, userIds: [user.userId, ...userIds] };
    assert.equal((await user.client.submit("update_root_quorum", quorum)).status, 400);
    const apiKeys = [apiKeyParams(generateApiKey())];
    await user.client.result("create_api_keys", { userId: userIds[0], apiKeys });
    assert.equal((await user.client.submit("update_root_quorum", quorum)).status, 200);
  });

  leavesAccounts(server);
});
