import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { it } from "node:test";
import { capabilities } from "../../src/capabilities/index.ts";
import { combineManifests } from "../../src/engine/capability.ts";
import { newId } from "../../src/kernel/ids.ts";
import { EQUAL_ACTIVITIES_MS, MAX_AUTH_PROXY_BODY_BYTES } from "../../src/kernel/limits.ts";
import { nonceOfPublicKey } from "../../src/providers/oidc/nonce.ts";
import { type App, callAuthProxy, createApp } from "../support/auth-proxy.ts";
import { createAuthenticator } from "../support/authenticator.ts";
import { envelopeData, exportTarget } from "../support/bundles.ts";
import { apiKeyParams, type Client, generateApiKey, type Json } from "../support/client.ts";
import { issuerOfTests } from "../support/issuer.ts";
import { credentialParams, oauth2ProviderOfTests } from "../support/oauth2-provider.ts";
import { claimsOfToken, mailedCode, verificationTokenFor } from "../support/one-time-codes.ts";
import { leavesAccounts } from "../support/provenance.ts";
import { onEachEngine, startTestServer } from "../support/server.ts";
import { startTurnstile } from "../support/turnstile.ts";
import { addSubOrganization, createWorld } from "../support/world.ts";

const NOBODY = { apiKeys: [], authenticators: [], oauthProviders: [] };
const HEADER = "x-auth-proxy-config-id";
const { proxyCalls } = combineManifests(capabilities);
const ORIGIN = "https://app.example";

let addresses = 0;
const newAddress = (): string => `proxied-${process.pid}-${++addresses}@example.com`;

const shortKey = () => {
  const key = generateApiKey();
  return { key, params: { ...apiKeyParams(key), expirationSeconds: "60" } };
};

function passkeyParams() {
  const passkey = createAuthenticator();
  const challenge = Buffer.from(newId()).toString("base64url");
  const attestation = passkey.attest({ challenge: newId(), origin: ORIGIN, rpId: "app.example" });
  const { challenge: sent } = JSON.parse(Buffer.from(attestation.clientDataJson, "base64url").toString());
  return { passkey, params: { authenticatorName: "Phone", challenge: sent ?? challenge, attestation } };
}

const apiKeysOf = async (client: Client, userId: string): Promise<Json[]> =>
  (await client.read("get_user", { userId })).user.apiKeys;

onEachEngine("the auth proxy's configuration", (server) => {
  it("keeps its id and its user while the proxy is disabled, and the key goes", async () => {
    const app = await createApp(server());
    const { client } = app.root;
    const [first] = await apiKeysOf(client, app.proxyUserId);
    assert.ok(first);
    assert.equal((await app.call("wallet_kit_config")).status, 200);
    const again = await client.result("enable_auth_proxy", {});
    assert.equal(again.userId, app.proxyUserId, "what is enabled stays as it is");
    assert.deepEqual(await apiKeysOf(client, app.proxyUserId), [first]);
    await client.result("disable_auth_proxy", {});
    assert.deepEqual(await apiKeysOf(client, app.proxyUserId), []);
    for (const { path } of proxyCalls) {
      const refused = await app.call(path, {});
      assert.equal(refused.status, 401, path);
      assert.match(refused.body.message, /X-Auth-Proxy-Config-Id/);
    }
    const { config } = await client.read("get_auth_proxy_config");
    assert.deepEqual(config, { configId: app.configId, enabled: false, proxyUserId: app.proxyUserId });
    await client.result("disable_auth_proxy", {});
    assert.equal((await client.result("enable_auth_proxy", {})).userId, app.proxyUserId);
    const [second] = await apiKeysOf(client, app.proxyUserId);
    assert.notEqual(second?.credential.publicKey, first.credential.publicKey);
    assert.equal((await app.call("wallet_kit_config")).status, 200);
    assert.equal((await client.read("get_auth_proxy_config")).config.configId, app.configId);
  });

  it("makes its user anew where somebody deleted it, with a policy of its own", async () => {
    const app = await createApp(server());
    const { client } = app.root;
    await client.result("delete_users", { userIds: [app.proxyUserId] });
    const dead = await app.call("signup_v2", { ...NOBODY, apiKeys: [apiKeyParams(generateApiKey())] });
    assert.equal(dead.status, 401);
    assert.match(dead.body.message, /does not name an enabled auth proxy/);
    await client.result("disable_auth_proxy", {});
    const { userId } = await client.result("enable_auth_proxy", {});
    assert.notEqual(userId, app.proxyUserId);
    const absent = { expirationSeconds: null };
    await app.ask("signup_v2", {
      ...NOBODY,
      userEmail: "",
      wallet: null,
      apiKeys: [{ ...apiKeyParams(generateApiKey()), ...absent }],
    });
  });

  it("has a user whose key is no member's of a root quorum, and stays enabled while an MFA policy names it", async () => {
    const app = await createApp(server());
    const { client, userId: rootId } = app.root;
    const userId = app.proxyUserId;
    for (const quorum of [
      { threshold: 1, userIds: [userId] },
      { threshold: 2, userIds: [rootId, userId] },
    ]) {
      const { status, body } = await client.submit("update_root_quorum", quorum);
      assert.equal(status, 400, JSON.stringify(body));
      assert.match(body.message, new RegExp(`quorum users missing: .* give ${userId} their own passkey or API key`));
    }
    await client.result("update_root_quorum", { threshold: 1, userIds: [rootId, userId] });
    const [key] = await apiKeysOf(client, userId);
    const { mfaPolicyId } = await client.result("create_mfa_policy", {
      userId,
      mfaPolicyName: "The proxy's key",
      condition: "true",
      requiredAuthenticationMethods: [{ any: [{ type: "AUTHENTICATION_TYPE_API_KEY", id: key?.apiKeyId }] }],
      order: 1,
    });
    const { status, body } = await client.submit("disable_auth_proxy", {});
    assert.equal(status, 400, JSON.stringify(body));
    assert.match(body.message, new RegExp(`${mfaPolicyId}.*change that policy first`));
    assert.deepEqual(await apiKeysOf(client, userId), [key]);
    assert.equal((await client.read("get_auth_proxy_config")).config.enabled, true);
    await client.result("delete_mfa_policy", { userId, mfaPolicyId });
    await client.result("disable_auth_proxy", {});
    assert.deepEqual(await apiKeysOf(client, userId), []);
  });

  it("takes what is given and leaves the rest, and shows all of it", async () => {
    const { root } = await createWorld(server());
    assert.equal((await root.client.query("get_auth_proxy_config", {})).status, 404);
    const settings = {
      allowedOrigins: ["https://app.example", "http://localhost:3000"],
      allowedAuthMethods: ["email", "passkey", "google", "oidc"],
      sendFromEmailAddress: "hello@example.com",
      sendFromEmailSenderName: "Shop",
      replyToEmailAddress: "help@example.com",
      otpTemplateId: "",
      emailAuthTemplateId: "",
      emailCustomizationParams: { appName: "Shop", logoUrl: "https://app.example/logo.png" },
      smsCustomizationParams: { template: "{{.OtpCode}}" },
      walletKitSettings: {
        enabledSocialProviders: ["google", "x"],
        oauthClientIds: { google: "a-client" },
        oauthRedirectUrl: "https://app.example/back",
      },
      otpExpirationSeconds: 300,
      verificationTokenExpirationSeconds: 600,
      sessionExpirationSeconds: 1800,
      otpAlphanumeric: false,
      otpLength: 8,
      verificationTokenRequiredForGetAccountPii: true,
      socialLinkingClientIds: ["a-client"],
      captchaEnabled: false,
    };
    const { configId } = await root.client.result("update_auth_proxy_config", settings);
    const shown = { configId, enabled: false, ...settings };
    assert.deepEqual((await root.client.read("get_auth_proxy_config")).config, shown);
    assert.equal((await callAuthProxy(server().authProxyUrl, "account", {}, { [HEADER]: configId })).status, 401);
    const { userId } = await root.client.result("enable_auth_proxy", {});
    assert.equal((await root.client.result("update_auth_proxy_config", { otpLength: 7 })).configId, configId);
    const { config } = await root.client.read("get_auth_proxy_config");
    assert.deepEqual(config, { ...shown, enabled: true, proxyUserId: userId, otpLength: 7 });
    const kit = await callAuthProxy(server().authProxyUrl, "wallet_kit_config", undefined, { [HEADER]: configId });
    assert.deepEqual(kit.body, {
      enabledProviders: ["email", "passkey", "google"],
      sessionExpirationSeconds: "1800",
      organizationId: root.client.organizationId,
      oauthClientIds: { google: "a-client" },
      oauthRedirectUrl: "https://app.example/back",
      otpAlphanumeric: false,
      otpLength: "7",
    });
  });

  it("refuses what cannot work, and names it", async () => {
    const { root } = await createWorld(server());
    const refusals: [string, object][] = [
      ["allowedOrigins.0", { allowedOrigins: ["https://app.example/path"] }],
      ["allowedOrigins.1", { allowedOrigins: ["*", "app.example"] }],
      ["allowedOrigins.0", { allowedOrigins: ["https://*.example"] }],
      ["allowedAuthMethods.0", { allowedAuthMethods: ["carrier pigeon"] }],
      ["otpLength", { otpLength: 10 }],
      ["otpExpirationSeconds", { otpExpirationSeconds: 601 }],
      ["sessionExpirationSeconds", { sessionExpirationSeconds: 0 }],
      ["otpTemplateId", { otpTemplateId: "missing" }],
      ["smsCustomizationParams.template", { smsCustomizationParams: { template: "no code" } }],
      ["emailCustomizationParams.logoUrl", { emailCustomizationParams: { logoUrl: "http://app.example/logo.png" } }],
      ["walletKitSettings.oauthRedirectUrl", { walletKitSettings: { oauthRedirectUrl: "nowhere" } }],
      ...[
        "javascript:alert(1)//",
        " JavaScript:alert(1)",
        "java\tscript:alert(1)",
        "data:text/html,x",
        "file:///etc/passwd",
      ].map((url): [string, object] => [
        "walletKitSettings.oauthRedirectUrl",
        { walletKitSettings: { oauthRedirectUrl: url } },
      ]),
      ["captchaEnabled", { captchaEnabled: true }],
    ];
    for (const [field, settings] of refusals) {
      const { status, body } = await root.client.submit("update_auth_proxy_config", settings);
      assert.equal(status, 400, field);
      assert.match(body.message, new RegExp(`parameters.${field}`.replaceAll(".", "\\.")), field);
    }
    assert.equal((await root.client.query("get_auth_proxy_config", {})).status, 404, "nothing was stored");
  });

  it("leads back to pages, and to apps by schemes of their own", async () => {
    const { root } = await createWorld(server());
    for (const oauthRedirectUrl of [
      "https://app.example/back",
      "http://localhost:3000",
      "myapp://back",
      "com.example.app:/back",
    ]) {
      await root.client.result("update_auth_proxy_config", { walletKitSettings: { oauthRedirectUrl } });
      const { config } = await root.client.read("get_auth_proxy_config");
      assert.equal(config.walletKitSettings.oauthRedirectUrl, oauthRedirectUrl);
    }
  });

  it("refuses what does not go with what is set already, whichever of the two was set first", async () => {
    const folder = join(server().dataDir, "templates", "greeting");
    mkdirSync(folder, { recursive: true });
    const text = '{{ index .TemplateVariables "greeting" }} {{ .OtpCode }}';
    for (const file of ["subject.txt", "text.txt", "html.html"]) writeFileSync(join(folder, file), text);
    const templateVariables = JSON.stringify({ greeting: "Hello" });
    const { client } = (await createWorld(server())).root;
    const refuses = async (field: string, settings: object) => {
      const { status, body } = await client.submit("update_auth_proxy_config", settings);
      assert.equal(status, 400, JSON.stringify(settings));
      assert.match(body.message, new RegExp(`\`parameters\\.${field}\` failed to get email template`));
    };
    await refuses("otpTemplateId", { otpTemplateId: "greeting" });
    await refuses("emailCustomizationParams", { emailCustomizationParams: { templateId: "missing" } });
    await client.result("update_auth_proxy_config", { emailCustomizationParams: { templateVariables } });
    await client.result("update_auth_proxy_config", { otpTemplateId: "greeting" });
    await refuses("emailCustomizationParams", { emailCustomizationParams: { appName: "Shop" } });
    await client.result("update_auth_proxy_config", { otpLength: 8 });
    const kept = (await client.read("get_auth_proxy_config")).config;
    assert.deepEqual([kept.otpTemplateId, kept.emailCustomizationParams], ["greeting", { templateVariables }]);
    const both = { otpTemplateId: "", emailCustomizationParams: { appName: "Shop" } };
    await client.result("update_auth_proxy_config", both);
  });

  it("is for parents alone", async () => {
    const { root } = await createWorld(server(), "subOrganizations");
    assert.equal((await root.client.submit("enable_auth_proxy", {})).status, 400);
  });
});

onEachEngine("people at the auth proxy", (server) => {
  const whoami = (app: App, organizationId: string, key: ReturnType<typeof generateApiKey>) =>
    app.root.client.with({ organizationId, key }).read("whoami");

  it("sign up with a passkey, and in with the key that was made beside it", async () => {
    const app = await createApp(server());
    const { passkey, params } = passkeyParams();
    const { key, params: apiKey } = shortKey();
    const signedUp = await app.ask("signup_v2", {
      userName: "Ada",
      organizationName: "Ada's",
      userEmail: newAddress(),
      userTag: "beta",
      apiKeys: [apiKey],
      authenticators: [params],
      oauthProviders: [],
      wallet: {
        walletName: "First",
        accounts: [
          {
            curve: "CURVE_SECP256K1",
            pathFormat: "PATH_FORMAT_BIP32",
            path: "m/44'/60'/0'/0/0",
            addressFormat: "ADDRESS_FORMAT_ETHEREUM",
          },
        ],
        mnemonicLength: 24,
      },
    });
    assert.match(signedUp.wallet.addresses[0], /^0x[0-9a-fA-F]{40}$/);
    const { userId, organizationId } = signedUp;
    assert.equal((await whoami(app, organizationId, key)).userId, userId);
    const inSub = app.root.client.with({ organizationId, key });
    const [tag, ...others] = (await inSub.read("list_user_tags")).userTags;
    assert.deepEqual([tag.tagName, others], ["beta", []]);
    assert.deepEqual((await inSub.read("get_user", { userId })).user.userTags, [tag.tagId]);
    const session = generateApiKey();
    await inSub.result("stamp_login", { publicKey: session.publicKey, expirationSeconds: "600" });
    assert.equal((await whoami(app, organizationId, session)).userId, userId);
    const account = await app.ask("account", { filterType: "CREDENTIAL_ID", filterValue: passkey.credentialId });
    assert.deepEqual(account, { organizationId });
    const unknown = await app.ask("account", { filterType: "PUBLIC_KEY", filterValue: generateApiKey().publicKey });
    assert.deepEqual(unknown, {});
    const { activities } = await app.root.client.read("list_activities");
    const made = activities.find(({ type }: Json) => type === "ACTIVITY_TYPE_CREATE_SUB_ORGANIZATION_V8");
    assert.equal(made.votes[0].userId, app.proxyUserId, "an ordinary activity of the proxy's user");
  });

  it("have one account for equal sign-ups, at once and after it, and another once that is gone", async () => {
    const issuer = await issuerOfTests();
    const app = await createApp(server());
    const { client } = app.root;
    const nonce = nonceOfPublicKey(generateApiKey().publicKey);
    const oidcToken = await issuer.token({ sub: newId(), nonce });
    const person = {
      ...NOBODY,
      oauthProviders: [{ providerName: "Google", oidcToken }],
      wallet: { walletName: "First", accounts: [] },
    };
    const [first, ...others] = await Promise.all(Array.from({ length: 12 }, () => app.ask("signup_v2", person)));
    const { organizationId, userId } = first;
    for (const other of others) assert.deepEqual(other, first);
    assert.deepEqual(await app.ask("signup_v2", person), first);
    assert.deepEqual((await client.read("list_suborgs")).organizationIds, [organizationId]);
    const { publicKey } = generateApiKey();
    const unbound = await app.call("oauth_login", { oidcToken, publicKey });
    assert.match(unbound.body.message, /nonce/, "the token names its account, and another key");

    const renamed = await app.ask("signup_v2", { ...person, userName: "Grace" });
    assert.notEqual(renamed.organizationId, organizationId, "another request is another account");

    const key = generateApiKey();
    const apiKeys = [apiKeyParams(key)];
    const byKey = await app.ask("signup_v2", { ...NOBODY, apiKeys });
    const inSub = client.with({ organizationId: byKey.organizationId, key });
    await inSub.result("delete_sub_organization", { deleteWithoutExport: true });
    const anew = await app.ask("signup_v2", { ...NOBODY, apiKeys });
    assert.notEqual(anew.organizationId, byKey.organizationId);
    assert.deepEqual(await app.ask("signup_v2", { ...NOBODY, apiKeys }), anew);
    assert.notEqual(userId, anew.userId);
  });

  it("may sign up as soon as it is allowed, with the request that was denied", async () => {
    const app = await createApp(server());
    const { client } = app.root;
    const person = { ...NOBODY, apiKeys: [apiKeyParams(generateApiKey())] };
    const { policyId } = await client.result("create_policy", {
      policyName: "Closed for now",
      notes: "",
      effect: "EFFECT_DENY",
      consensus: `approvers.any(user, user.id == '${app.proxyUserId}')`,
    });
    for (const _ of [1, 2]) assert.equal((await app.call("signup_v2", person)).status, 403);
    await client.result("delete_policy", { policyId });
    const made = await app.ask("signup_v2", person);
    assert.deepEqual(await app.ask("signup_v2", person), made);
  });

  it("have an account each where nothing but a contact is written down", async () => {
    const app = await createApp(server());
    const person = { ...NOBODY, userEmail: newAddress(), userName: "Ada", organizationName: "Ada's" };
    const [one, other] = [await app.ask("signup_v2", person), await app.ask("signup_v2", person)];
    assert.notEqual(one.organizationId, other.organizationId);
  });

  it("get a wallet of as many words as they ask for, and of twelve unless they say", async () => {
    const app = await createApp(server());
    for (const mnemonicLength of [undefined, 12, 15, 18, 21, 24]) {
      const key = generateApiKey();
      const wallet = { walletName: "First", accounts: [], ...(mnemonicLength ? { mnemonicLength } : {}) };
      const person = { ...NOBODY, apiKeys: [apiKeyParams(key)], wallet };
      const { organizationId, wallet: made } = await app.ask("signup_v2", person);
      const { targetPublicKey, open } = exportTarget();
      const exported = { walletId: made.walletId, targetPublicKey };
      const inSub = app.root.client.with({ organizationId, key });
      const { exportBundle } = await inSub.result("export_wallet", exported);
      const words = open(envelopeData(exportBundle)).toString().split(" ");
      assert.equal(words.length, mnemonicLength ?? 12);
    }
  });

  it("sign in by a code, whichever version they speak", async () => {
    const app = await createApp(server(), { otpAlphanumeric: false, otpLength: 6 });
    const sub = await addSubOrganization(app.root.client);
    const { organizationId } = sub.client;
    const contact = newAddress();
    await sub.client.result("update_user", { userId: sub.userId, userEmail: contact });
    const { otpId } = await app.ask("otp_init", { otpType: "OTP_TYPE_EMAIL", contact });
    const code = await mailedCode(server(), contact);
    assert.match(code, /^[0-9]{6}$/);
    const wrong = await app.call("otp_verify", { otpId, otpCode: "abcdef" });
    assert.equal(wrong.status, 400);
    assert.match(wrong.body.message, /^Invalid OTP code/);
    const { verificationToken } = await app.ask("otp_verify", { otpId, otpCode: code });
    const session = generateApiKey();
    const login = { verificationToken, publicKey: session.publicKey };
    await app.ask("otp_login", { ...login, organizationId });
    assert.equal((await whoami(app, organizationId, session)).userId, sub.userId);
    const foreign = (await createWorld(server())).root.client.organizationId;
    for (const [named, status] of [
      [foreign, 404],
      [newId(), 404],
      ["nonsense", 400],
    ] as const) {
      assert.equal((await app.call("otp_login", { ...login, organizationId: named })).status, status, named);
    }
    const reused = await app.call("otp_login", { ...login, organizationId, publicKey: generateApiKey().publicKey });
    assert.equal(reused.status, 400);
    assert.match(reused.body.message, /already been used/);
  });

  it("are not told who has an address by a token that was not issued here", async () => {
    const app = await createApp(server());
    const sub = await addSubOrganization(app.root.client);
    const [known, unknown] = [newAddress(), newAddress()];
    const verificationToken = await verificationTokenFor(server(), sub.client, known);
    await sub.client.result("update_user_email", { userId: sub.userId, userEmail: known, verificationToken });
    const [header, payload, signature] = (await verificationTokenFor(server(), app.root.client, unknown)).split(".");
    const claims = JSON.parse(Buffer.from(payload as string, "base64url").toString());
    const answers = await Promise.all(
      [known, unknown].map((contact) => {
        const forged = Buffer.from(JSON.stringify({ ...claims, contact, id: newId() })).toString("base64url");
        const { publicKey } = generateApiKey();
        return app.call("otp_login", { verificationToken: `${header}.${forged}.${signature}`, publicKey });
      }),
    );
    const [ofKnown, ofUnknown] = answers.map(({ status, body }) => ({ status, body }));
    assert.deepEqual(ofKnown, ofUnknown);
    assert.equal(ofKnown?.status, 400);
    assert.match(ofKnown?.body.message, /`verificationToken`.*was not issued here/);
    const good = await verificationTokenFor(server(), app.root.client, known);
    await app.ask("otp_login", { verificationToken: good, publicKey: generateApiKey().publicKey });
  });

  it("are found by contacts that they have shown, and by none that was only written down", async () => {
    const app = await createApp(server());
    const { client } = app.root;
    await client.result("set_organization_feature", { name: "FEATURE_NAME_SMS_AUTH" });
    const [owner, thief] = [await addSubOrganization(client), await addSubOrganization(client)];
    const contacts = { EMAIL: newAddress(), PHONE_NUMBER: "+14155550167" };
    const { EMAIL: userEmail, PHONE_NUMBER: userPhoneNumber } = contacts;
    await thief.client.result("update_user", { userId: thief.userId, userEmail, userPhoneNumber });
    const account = (filterType: string, filterValue: string, more: object = {}) =>
      app.call("account", { filterType, filterValue, ...more });
    const tokenFor = (contact: string, by = client) => verificationTokenFor(server(), by, contact);
    for (const [filterType, contact] of Object.entries(contacts)) {
      assert.deepEqual((await account(filterType, contact)).body, {});
      const login = { verificationToken: await tokenFor(contact), publicKey: generateApiKey().publicKey };
      const nobodys = await app.call("otp_login", login);
      assert.deepEqual([nobodys.status, nobodys.body.turnkeyErrorCode], [404, "ORGANIZATION_NOT_FOUND"]);
      const change = filterType === "EMAIL" ? "update_user_email" : "update_user_phone_number";
      const fields = filterType === "EMAIL" ? { userEmail } : { userPhoneNumber };
      const { verificationToken } = login;
      await owner.client.result(change, { userId: owner.userId, ...fields, verificationToken });
      const { organizationId } = owner.client;
      assert.deepEqual((await account(filterType, contact.toUpperCase())).body, { organizationId });
      await app.ask("otp_login", login);
      await app.root.client.result("update_auth_proxy_config", { verificationTokenRequiredForGetAccountPii: true });
      const proven = await account(filterType, contact, { verificationToken });
      assert.deepEqual(proven.body, { organizationId }, "also by a token that has served for a login");
      const foreign = (await createWorld(server())).root.client;
      const [header, payload] = verificationToken.split(".");
      const refusals: [string, object][] = [
        ["no token", {}],
        ["a forged one", { verificationToken: `${header}.${payload}.${"A".repeat(86)}` }],
        ["another contact's", { verificationToken: await tokenFor(newAddress()) }],
        ["a sub-organization's", { verificationToken: await tokenFor(contact, owner.client) }],
        ["another parent's", { verificationToken: await tokenFor(newAddress(), foreign) }],
      ];
      for (const [what, more] of refusals) {
        const { status, body } = await account(filterType, contact, more);
        assert.equal(status, 400, what);
        assert.match(body.message, /`verificationToken`/, what);
      }
      await app.root.client.result("update_auth_proxy_config", { verificationTokenRequiredForGetAccountPii: false });
    }
  });

  it("are none of the organization's own users, though they name it", async () => {
    const app = await createApp(server());
    const { organizationId } = app.root.client;
    const sub = await addSubOrganization(app.root.client);
    const [staff, person, subject] = [newAddress(), newAddress(), newId()];
    await app.root.client.result("update_user", { userId: app.root.userId, userEmail: staff });
    const issuer = await issuerOfTests();
    const providerOf = async (sub: string) => ({
      providerName: "Issuer",
      oidcToken: await issuer.token({ sub, aud: "app" }),
    });
    const oauthProviders = [await providerOf(subject)];
    await app.root.client.result("create_oauth_providers", { userId: app.root.userId, oauthProviders });
    const tokenFor = (contact: string) => verificationTokenFor(server(), app.root.client, contact);
    const loginBy = async (contact: string) => {
      const { publicKey } = generateApiKey();
      return app.call("otp_login", { verificationToken: await tokenFor(contact), publicKey, organizationId });
    };
    const loginAs = async (sub: string) => {
      const { publicKey } = generateApiKey();
      const oidcToken = await issuer.token({ sub, aud: "app", nonce: nonceOfPublicKey(publicKey) });
      return app.call("oauth_login", { oidcToken, publicKey, organizationId });
    };
    for (const refused of [await loginBy(staff), await loginAs(subject)]) {
      assert.equal(refused.status, 404, JSON.stringify(refused.body));
      assert.match(refused.body.message, /sign them up/);
    }
    const verificationToken = await tokenFor(person);
    await sub.client.result("update_user_email", { userId: sub.userId, userEmail: person, verificationToken });
    const known = newId();
    const added = { userId: sub.userId, oauthProviders: [await providerOf(known)] };
    await sub.client.result("create_oauth_providers", added);
    for (const { status, body } of [await loginBy(person), await loginAs(known)]) {
      assert.equal(status, 200, JSON.stringify(body));
      assert.equal(claimsOfToken(body.session).organization_id, sub.client.organizationId);
    }
  });

  it("are not known to the organization's app by what somebody else's app was told of them", async () => {
    const app = await createApp(server(), { walletKitSettings: { oauthClientIds: { google: "web", apple: "phone" } } });
    const issuer = await issuerOfTests();
    const providersOf = async (sub: string, shownTo: string, ...audiences: string[]) => [
      { providerName: shownTo, oidcToken: await issuer.token({ sub, aud: shownTo }) },
      ...audiences.map((aud) => ({ providerName: aud, oidcClaims: { iss: issuer.url, sub, aud } })),
    ];
    const signUp = async (oauthProviders: object[]) => app.call("signup_v2", { ...NOBODY, oauthProviders });
    const victim = newId();
    const [token, claims] = (await providersOf(victim, "theirs", "web")) as [object, object];
    for (const oauthProviders of [[token, claims], [{ ...token, ...claims }]]) {
      const { status, body } = await signUp(oauthProviders);
      assert.equal(status, 400, JSON.stringify(body));
      assert.match(body.message, /`oauthProviders\.\d\.oidcClaims` needs proof: .*, for one of the apps/);
    }
    const thief = await addSubOrganization(app.root.client);
    const add = (oauthProviders: object[]) =>
      thief.client.submit("create_oauth_providers", { userId: thief.userId, oauthProviders });
    assert.equal((await add([token])).status, 200, "as who came to their app they may know them");
    assert.equal((await add([claims])).status, 400, "nor by a provider that they have");
    const { publicKey } = generateApiKey();
    const oidcToken = await issuer.token({ sub: victim, aud: "web", nonce: nonceOfPublicKey(publicKey) });
    assert.equal((await app.call("oauth_login", { oidcToken, publicKey })).status, 404);
    assert.equal((await signUp(await providersOf(victim, "phone", "web", "elsewhere"))).status, 200);
    assert.equal((await app.call("oauth_login", { oidcToken, publicKey })).status, 200);
  });

  it("sign in by an OIDC token, wherever they are known", async () => {
    const app = await createApp(server(), { sessionExpirationSeconds: 1200 });
    const issuer = await issuerOfTests();
    const sub = newId();
    const signedUp = await app.ask("signup_v2", {
      ...NOBODY,
      oauthProviders: [{ providerName: "Issuer", oidcToken: await issuer.token({ sub, aud: "app" }) }],
    });
    const session = generateApiKey();
    const { publicKey } = session;
    const oidcToken = await issuer.token({ sub, aud: "app", nonce: nonceOfPublicKey(publicKey) });
    const { session: jwt } = await app.ask("oauth_login", { oidcToken, publicKey });
    const claims = JSON.parse(Buffer.from(jwt.split(".")[1], "base64url").toString());
    assert.equal(claims.organization_id, signedUp.organizationId);
    assert.ok(Math.abs(claims.exp - Date.now() / 1000 - 1200) < 300);
    assert.equal((await whoami(app, signedUp.organizationId, session)).userId, signedUp.userId);
    for (const [filterType, filterValue] of [
      ["OIDC_TOKEN", oidcToken],
      ["OIDC_CLAIMS", JSON.stringify({ iss: issuer.url, sub, aud: "app" })],
    ]) {
      assert.deepEqual(await app.ask("account", { filterType, filterValue }), {
        organizationId: signedUp.organizationId,
      });
    }
    const stranger = await issuer.token({ sub: newId(), nonce: nonceOfPublicKey(publicKey) });
    const unknown = await app.call("oauth_login", { oidcToken: stranger, publicKey });
    assert.equal(unknown.status, 404);
    assert.match(unknown.body.message, /sign them up/);
  });

  it("bring a code from X, by the app's own client id", async () => {
    const app = await createApp(server());
    const params = await credentialParams(server().baseUrl);
    await app.root.client.result("create_oauth2_credential", params);
    const { provider, clientId } = params as { provider: string; clientId: string };
    const publicKey = generateApiKey().publicKey;
    const code = (await oauth2ProviderOfTests()).signIn(clientId);
    const request = { provider, clientId, ...code, nonce: nonceOfPublicKey(publicKey) };
    const { oidcToken } = await app.ask("oauth2_authenticate", request);
    const signedUp = await app.ask("signup_v2", { ...NOBODY, oauthProviders: [{ providerName: "X", oidcToken }] });
    await app.ask("oauth_login", { oidcToken, publicKey, organizationId: signedUp.organizationId });
    const other = await app.call("oauth2_authenticate", { ...request, clientId: "another" });
    assert.equal(other.status, 404);
    assert.equal(other.body.turnkeyErrorCode, "OAUTH2_CREDENTIAL_NOT_FOUND");
    const ofOther = (await oauth2ProviderOfTests()).signIn(newId());
    const refused = await app.call("oauth2_authenticate", { ...request, ...ofOther });
    assert.deepEqual([refused.status, refused.body.turnkeyErrorCode], [400, "OAUTH2_PROVIDER_NOT_CONFIGURED"]);
    assert.doesNotMatch(refused.body.message, /[0-9a-f]{8}-[0-9a-f]{4}-/, "which credential it is, is not for them");
    const empty = await app.call("oauth2_authenticate", { ...request, authCode: "" });
    assert.equal(empty.status, 400);
    assert.match(empty.body.message, /auth_code must be set/);
    const { authCode: _, ...without } = request;
    assert.match((await app.call("oauth2_authenticate", without)).body.message, /missing field `authCode`/);
  });

  it("are told what is wrong in the words of their own request, and nothing is left of it", async () => {
    const app = await createApp(server());
    const count = async () => (await app.root.client.read("list_suborgs")).organizationIds.length;
    const key = apiKeyParams(generateApiKey());
    const badKey = { ...apiKeyParams(generateApiKey()), publicKey: `02${"ff".repeat(32)}` };
    const refusals: [RegExp, object][] = [
      [/`apiKeys`/, { authenticators: [], oauthProviders: [] }],
      [/`apiKeys\.0\.publicKey`/, { ...NOBODY, apiKeys: [badKey] }],
      [/`userEmail`/, { ...NOBODY, apiKeys: [key], userEmail: "nobody" }],
      [/`organizationName`/, { ...NOBODY, apiKeys: [key], organizationName: "a\nb" }],
      [/`userTag`/, { ...NOBODY, apiKeys: [key], userTag: "a\nb" }],
      [
        /`wallet\.mnemonicLength`/,
        { ...NOBODY, apiKeys: [key], wallet: { walletName: "W", accounts: [], mnemonicLength: 13 } },
      ],
      [/`oauthProviders\.0\.oidcToken`/, { ...NOBODY, oauthProviders: [{ providerName: "P", oidcToken: "a.b.c" }] }],
      [
        /`oauthProviders\.0\.oidcClaims` needs proof/,
        {
          ...NOBODY,
          oauthProviders: [
            { providerName: "P", oidcClaims: { iss: "https://issuer.example", sub: "somebody", aud: "app" } },
          ],
        },
      ],
      [/user missing valid credential/, NOBODY],
      [/`unknown`/, { ...NOBODY, apiKeys: [key], unknown: 1 }],
    ];
    for (const [message, body] of refusals) {
      const answer = await app.call("signup_v2", body);
      assert.equal(answer.status, 400, JSON.stringify(answer.body));
      assert.match(answer.body.message, message);
      assert.doesNotMatch(answer.body.message, /parameters|rootUsers/);
    }
    const verificationToken = await verificationTokenFor(server(), app.root.client, newAddress());
    const other = await app.call("signup", { ...NOBODY, userEmail: newAddress(), verificationToken });
    assert.equal(other.status, 400);
    assert.match(other.body.message, /`verificationToken` proves .*, which is the contact of no user to be created/);
    for (const body of ["{", "[]", '"text"', "null", `{"a":"${"x".repeat(MAX_AUTH_PROXY_BODY_BYTES)}"}`]) {
      const answer = await app.call("signup_v2", body);
      assert.ok(answer.status === 400 || answer.status === 413, JSON.stringify(answer.body));
    }
    assert.equal(await count(), 0);
  });

  it("come from the pages that the organization allows, by the ways that it allows", async () => {
    const app = await createApp(server(), { allowedOrigins: [ORIGIN], allowedAuthMethods: ["passkey", "email"] });
    const kit = (origin: string) => app.call("wallet_kit_config", undefined, { origin });
    const allowed = await kit(ORIGIN);
    assert.equal(allowed.status, 200);
    assert.equal(allowed.headers.get("access-control-allow-origin"), ORIGIN);
    for (const origin of ["https://evil.example", `${ORIGIN}.evil.example`, "http://app.example", "null"]) {
      const refused = await kit(origin);
      assert.equal(refused.status, 403, origin);
      assert.match(refused.body.message, /allowedOrigins/);
    }
    const preflight = await fetch(`${server().authProxyUrl}/v1/otp_init_v2`, {
      method: "OPTIONS",
      headers: {
        origin: ORIGIN,
        "access-control-request-method": "POST",
        "access-control-request-headers": "content-type,x-auth-proxy-config-id,x-captcha-token",
      },
    });
    assert.equal(preflight.status, 204);
    assert.equal(preflight.headers.get("access-control-allow-origin"), ORIGIN);
    assert.match(preflight.headers.get("access-control-allow-headers") ?? "", /x-auth-proxy-config-id/);

    const oidcToken = await (await issuerOfTests()).token({ sub: newId() });
    const wallet = { apiKeyName: "wallet-auth", publicKey: "02".padEnd(66, "1"), curveType: "API_KEY_CURVE_SECP256K1" };
    const refusals: [string, RegExp, object][] = [
      ["signup_v2", /^OAUTH disallowed/, { ...NOBODY, oauthProviders: [{ providerName: "P", oidcToken }] }],
      ["oauth_login", /^OAUTH disallowed/, { oidcToken, publicKey: generateApiKey().publicKey }],
      ["signup_v2", /^WALLET disallowed/, { ...NOBODY, apiKeys: [wallet] }],
      ["signup_v2", /^WALLET disallowed/, { ...NOBODY, apiKeys: [apiKeyParams(generateApiKey())] }],
      ["signup_v2", /^WALLET disallowed/, { ...NOBODY, apiKeys: [shortKey().params] }],
      ["signup_v2", /^SMS disallowed/, { ...NOBODY, userPhoneNumber: "+14155550123" }],
      ["otp_init_v2", /^SMS disallowed/, { otpType: "OTP_TYPE_SMS", contact: "+14155550123" }],
    ];
    for (const [path, message, body] of refusals) {
      const answer = await app.call(path, body);
      assert.equal(answer.status, 403, JSON.stringify(answer.body));
      assert.match(answer.body.message, message);
    }
    await app.ask("otp_init_v2", { otpType: "OTP_TYPE_EMAIL", contact: newAddress() });
    const { params: authenticator } = passkeyParams();
    await app.ask("signup_v2", { ...NOBODY, authenticators: [authenticator], apiKeys: [shortKey().params] });
    await app.ask("signup_v2", { ...NOBODY, userEmail: newAddress() });
  });

  it("name a configuration that there is", async () => {
    const app = await createApp(server());
    for (const configId of ["", "nonsense", newId(), app.root.client.organizationId]) {
      const answer = await app.call("wallet_kit_config", undefined, { [HEADER]: configId });
      assert.equal(answer.status, 401, configId);
    }
    const answer = await callAuthProxy(server().authProxyUrl, "wallet_kit_config", undefined, {});
    assert.equal(answer.status, 401);
    const upper = await app.call("wallet_kit_config", undefined, { [HEADER]: app.configId.toUpperCase() });
    assert.equal(upper.status, 200);
  });

  it("are bound by the organization's policies, whose words they do not see", async () => {
    const app = await createApp(server());
    const policy = await app.root.client.result("create_policy", {
      policyName: "No sign-ups today",
      effect: "EFFECT_DENY",
      consensus: "true",
      condition: "activity.type == 'ACTIVITY_TYPE_CREATE_SUB_ORGANIZATION_V8'",
      notes: "",
    });
    const request = { ...NOBODY, apiKeys: [apiKeyParams(generateApiKey())] };
    const denied = await app.call("signup_v2", request);
    assert.equal(denied.status, 403);
    assert.doesNotMatch(JSON.stringify(denied.body), /No sign-ups today/);
    await app.root.client.result("delete_policy", { policyId: policy.policyId });
    const { policies } = await app.root.client.read("list_policies");
    const own = policies.find(({ policyName }: Json) => policyName === `Auth proxy ${app.proxyUserId}`);
    const both = `${own.consensus} && approvers.any(user, user.id == '${app.root.userId}')`;
    await app.root.client.result(
      "update_policy",
      { policyId: own.policyId, policyConsensus: both },
      {
        type: "ACTIVITY_TYPE_UPDATE_POLICY_V2",
      },
    );
    const waiting = await app.call("signup_v2", request);
    assert.equal(waiting.status, 403);
    assert.match(waiting.body.message, /is waiting for it$/);
  });

  leavesAccounts(server);
});

it("lets people pass who solve a captcha, while the organization wants one", async () => {
  const turnstile = await startTurnstile();
  const server = await startTestServer("sqlite", {
    settings: {
      KEYSTEAD_TURNSTILE_URL: turnstile.url,
      KEYSTEAD_TURNSTILE_SITE_KEY: "site key",
      KEYSTEAD_TURNSTILE_SECRET: turnstile.secret,
    },
  });
  try {
    const app = await createApp(server);
    const init = (headers: Record<string, string> = {}) =>
      app.call("otp_init_v2", { otpType: "OTP_TYPE_EMAIL", contact: newAddress() }, headers);
    const solved = () => ({ "x-captcha-token": turnstile.solve() });
    assert.deepEqual(await app.ask("wallet_kit_client_params"), {});
    assert.equal((await init()).status, 200);
    await app.root.client.result("update_auth_proxy_config", { captchaEnabled: true });
    assert.deepEqual(await app.ask("wallet_kit_client_params"), { turnstileSiteKey: "site key" });
    const missing = await init();
    assert.equal(missing.status, 403);
    assert.equal(missing.body.message, "X-Captcha-Token header is required when captcha is enabled");
    const token = solved();
    assert.equal((await init(token)).status, 200);
    assert.equal(turnstile.asked.at(-1)?.get("remoteip"), "127.0.0.1");
    for (const wrong of [token, { "x-captcha-token": "guessed" }, { "x-captcha-token": "x".repeat(5000) }]) {
      const refused = await init(wrong);
      assert.equal(refused.status, 403);
      assert.equal(refused.body.message, "captcha verification failed");
    }
    const person = { ...NOBODY, apiKeys: [apiKeyParams(generateApiKey())] };
    assert.equal((await app.call("signup_v2", person)).status, 403);
    assert.equal((await app.call("signup_v2", person, solved())).status, 200);
    const userEmail = newAddress();
    const verificationToken = await verificationTokenFor(server, app.root.client, userEmail);
    const shown = await app.call("signup", { ...NOBODY, userEmail, verificationToken });
    assert.equal(shown.status, 200, "whoever has shown a contact is no robot");
    assert.equal((await app.call("account", { filterType: "NAME", filterValue: "x" })).status, 200, "asks for none");
    turnstile.answer((_, response) => void response.writeHead(503).end());
    assert.equal((await init({ "x-captcha-token": "anything" })).status, 200, "people get in while it is away");
    turnstile.answer((_, response) => void response.writeHead(200).end("<html>"));
    assert.equal((await init({ "x-captcha-token": "anything" })).status, 200);
    assert.doesNotMatch(server.log(), new RegExp(turnstile.secret));
  } finally {
    await server.close();
    await turnstile.close();
  }
});

it("takes an equal sign-up for the same for some minutes, whenever the first came, and for another one after them", async () => {
  let now = Date.now();
  const server = await startTestServer("sqlite", { clock: () => now });
  try {
    const app = await createApp(server);
    now += EQUAL_ACTIVITIES_MS - (now % EQUAL_ACTIVITIES_MS) - 1;
    const signUp = async () => (await app.ask("signup_v2", { ...NOBODY, apiKeys })).organizationId;
    const apiKeys = [apiKeyParams(generateApiKey())];
    const first = await signUp();
    now += 1;
    assert.equal(await signUp(), first, "the next few minutes have begun");
    now += EQUAL_ACTIVITIES_MS - 1;
    assert.equal(await signUp(), first);
    now += 1;
    assert.notEqual(await signUp(), first);
  } finally {
    await server.close();
  }
});

it("answers at a port of its own where it is given one, and not on that of the API", async () => {
  const server = await startTestServer("sqlite", { settings: { KEYSTEAD_AUTH_PROXY_PORT: "0" } });
  try {
    assert.notEqual(server.authProxyUrl, server.baseUrl);
    const app = await createApp(server);
    assert.equal((await app.call("wallet_kit_config")).status, 200);
    const headers = { [HEADER]: app.configId };
    assert.equal((await callAuthProxy(server.baseUrl, "wallet_kit_config", undefined, headers)).status, 404);
    assert.equal((await fetch(`${server.authProxyUrl}/healthz`)).status, 404);
  } finally {
    await server.close();
  }
});

it("sends so many codes for one address, and for an organization to contacts that nobody has verified", async () => {
  let now = 0;
  const settings = {
    KEYSTEAD_TRUSTED_PROXIES: "127.0.0.1/32",
    KEYSTEAD_AUTH_PROXY_CODES_PER_HOUR: "3",
    KEYSTEAD_AUTH_PROXY_NEW_CONTACTS_PER_HOUR: "4",
  };
  const server = await startTestServer("sqlite", { settings, elapsed: () => now });
  try {
    const app = await createApp(server);
    const init = (from: string, contact = newAddress(), of = app) =>
      of.call("otp_init_v2", { otpType: "OTP_TYPE_EMAIL", contact }, { "x-forwarded-for": from });
    const known = newAddress();
    const person = { ...NOBODY, apiKeys: [apiKeyParams(generateApiKey())], userEmail: known };
    const verificationToken = await verificationTokenFor(server, app.root.client, known);
    await app.ask("signup", { ...person, verificationToken }, { "x-forwarded-for": "192.0.2.9" });

    for (let count = 0; count < 3; count++) assert.equal((await init("192.0.2.1")).status, 200);
    const ofAddress = await init("192.0.2.1");
    assert.deepEqual([ofAddress.status, ofAddress.headers.get("retry-after")], [429, "1200"]);
    assert.match(ofAddress.body.message, /too many codes were sent for this address/);
    assert.equal((await app.call("account", { filterType: "NAME", filterValue: "x" })).status, 200, "sends none");

    assert.equal((await init("192.0.2.2")).status, 200);
    const toStrangers = await init("192.0.2.2");
    assert.deepEqual([toStrangers.status, toStrangers.headers.get("retry-after")], [429, "900"]);
    assert.match(toStrangers.body.message, /too many codes were sent to new contacts/);
    assert.equal((await init("192.0.2.3", known)).status, 200, "who has an account gets in");
    assert.equal((await init("192.0.2.3", newAddress(), await createApp(server))).status, 200, "another organization");

    await app.root.client.result("update_auth_proxy_config", { verificationTokenRequiredForGetAccountPii: true });
    assert.equal((await init("192.0.2.4", known)).status, 429, "nobody learns who has an account");
    now += 900_000;
    assert.equal((await init("192.0.2.5")).status, 200);
  } finally {
    await server.close();
  }
});

it("takes so many requests of one address, and the others meanwhile", async () => {
  let now = 0;
  const settings = { KEYSTEAD_AUTH_PROXY_REQUESTS_PER_SECOND: "1" };
  const server = await startTestServer("sqlite", { settings, elapsed: () => now });
  try {
    const app = await createApp(server);
    const answers: number[] = [];
    for (let count = 0; count < 40; count++) answers.push((await app.call("wallet_kit_config")).status);
    assert.deepEqual([answers[0], answers.at(-1)], [200, 429]);
    assert.equal((await app.root.client.read("whoami")).organizationId, app.root.client.organizationId);
    now += 1000;
    assert.deepEqual(
      [(await app.call("wallet_kit_config")).status, (await app.call("wallet_kit_config")).status],
      [200, 429],
    );
  } finally {
    await server.close();
  }
});
