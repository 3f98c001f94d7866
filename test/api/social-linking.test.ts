import assert from "node:assert/strict";
import { it } from "node:test";
import { GOOGLE_ISSUER } from "../../src/authority/rules/contacts.ts";
import { newId } from "../../src/kernel/ids.ts";
import { nonceOfPublicKey } from "../../src/providers/oidc/nonce.ts";
import { createApp } from "../support/auth-proxy.ts";
import { addUser, type Client, generateApiKey, type Json } from "../support/client.ts";
import { googleToken, playedGoogle } from "../support/google.ts";
import { issuerOfTests } from "../support/issuer.ts";
import { verificationTokenFor } from "../support/one-time-codes.ts";
import { onEachEngine } from "../support/server.ts";
import { addSubOrganization, createWorld, type Member } from "../support/world.ts";

const APP = "an-app.apps.googleusercontent.com";
const newAddress = (): string => `Person-${newId()}@example.com`;
const verifiedIn = async (parent: Client, filterValue: string): Promise<string[]> =>
  (await parent.read("list_verified_suborgs", { filterType: "EMAIL", filterValue })).organizationIds;

onEachEngine(
  "an address that Google shows",
  (server) => {
    /** Links somebody whom Google knows to a user with the address that the token is about. */
    const link = async ({ client, userId }: Member, claims: object) => {
      const oauthProviders = [{ providerName: "Google", oidcToken: await googleToken({ sub: newId(), ...claims }) }];
      return client.submit("create_oauth_providers", { userId, oauthProviders });
    };

    it("is verified by tokens for the parent's own apps alone", async () => {
      const { root } = await createWorld(server());
      const settings = { socialLinkingClientIds: [APP], walletKitSettings: { oauthClientIds: { google: "kit" } } };
      await root.client.result("update_auth_proxy_config", settings);
      for (const [aud, isOwn] of [
        [APP, true],
        ["kit", true],
        ["somebody-elses-app", false],
      ] as const) {
        const sub = await addSubOrganization(root.client);
        const email = newAddress();
        await sub.client.result("update_user", { userId: sub.userId, userEmail: email });
        assert.equal((await link(sub, { aud, email: email.toLowerCase() })).status, 200);
        assert.deepEqual(await verifiedIn(root.client, email), isOwn ? [sub.client.organizationId] : [], aud);
      }
      const foreign = (await createWorld(server())).root;
      const sub = await addSubOrganization(foreign.client);
      const email = newAddress();
      await sub.client.result("update_user", { userId: sub.userId, userEmail: email });
      await link(sub, { aud: APP, email });
      assert.deepEqual(await verifiedIn(foreign.client, email), [], "another parent's app");
    });

    it("opens the look-up of an account where proof is asked for, and no other issuer's word does", async () => {
      const app = await createApp(server(), {
        verificationTokenRequiredForGetAccountPii: true,
        socialLinkingClientIds: [APP],
      });
      const sub = await addSubOrganization(app.root.client);
      const contact = newAddress();
      await sub.client.result("update_user_email", {
        userId: sub.userId,
        userEmail: contact,
        verificationToken: await verificationTokenFor(server(), sub.client, contact),
      });
      const ask = (oidcToken: string) => app.call("account", { filterType: "EMAIL", filterValue: contact, oidcToken });
      const found = await ask(await googleToken({ aud: APP, email: contact.toLowerCase() }));
      assert.deepEqual(found.body, { organizationId: sub.client.organizationId });
      const issuer = await issuerOfTests();
      for (const [what, token] of [
        ["another issuer", await issuer.token({ aud: APP, email: contact, email_verified: true })],
        ["another app", await googleToken({ aud: "somebody-elses-app", email: contact })],
        ["another address", await googleToken({ aud: APP, email: newAddress() })],
        ["no verified address", await googleToken({ aud: APP, email: contact, email_verified: false })],
      ] as const) {
        const refused = await ask(token);
        assert.equal(refused.status, 400, what);
        assert.match(refused.body.message, /does not prove this email address/, what);
      }
    });

    it("lets a parent link its user, and nobody by any other word", async () => {
      const { root } = await createWorld(server());
      const walletKitSettings = { oauthClientIds: { google: "phone" } };
      await root.client.result("update_auth_proxy_config", { socialLinkingClientIds: [APP], walletKitSettings });
      const { client, userId } = await addSubOrganization(root.client);
      const email = newAddress();
      await client.result("update_user", { userId, userEmail: email });
      const parent = root.client.with({ organizationId: client.organizationId });
      const sub = newId();
      const good = { providerName: "Google", oidcToken: await googleToken({ sub, aud: APP, email }) };
      const elsewhere = { providerName: "Phone", oidcClaims: { iss: GOOGLE_ISSUER, sub, aud: "phone" } };
      const issuer = await issuerOfTests();
      const evil = { iss: GOOGLE_ISSUER, sub, aud: "evil" };
      const others: [string, object][] = [
        ["another app's claims", { oidcClaims: evil }],
        ["another app's claims beside a good token", { oidcToken: good.oidcToken, oidcClaims: evil }],
        ["another app's token for the same person", { oidcToken: await googleToken({ sub, aud: "evil", email }) }],
        ["another address", { oidcToken: await googleToken({ sub: newId(), aud: APP, email: newAddress() }) }],
        ["another app", { oidcToken: await googleToken({ sub: newId(), aud: "other", email }) }],
        ["not verified", { oidcToken: await googleToken({ sub: newId(), aud: APP, email, email_verified: false }) }],
        ["another issuer", { oidcToken: await issuer.token({ sub: newId(), aud: APP, email, email_verified: true }) }],
      ];
      for (const [what, other] of others) {
        const oauthProviders = [good, { providerName: "Other", ...other }];
        const { status, body } = await parent.submit("create_oauth_providers", { userId, oauthProviders });
        assert.equal(status, 400, what);
        assert.match(
          body.message,
          /`parameters\.oauthProviders\.1\.oidcToken` is not a proof that a parent may submit/,
          what,
        );
      }
      assert.deepEqual((await client.read("get_oauth_providers", { userId })).oauthProviders, []);
      const plain = await addUser(root.client);
      const byPlain = plain.client.with({ organizationId: client.organizationId });
      const oauthProviders = [good, elsewhere];
      assert.equal((await byPlain.submit("create_oauth_providers", { userId, oauthProviders })).status, 403);
      await parent.result("create_oauth_providers", { userId, oauthProviders });
      const linked = (await client.read("get_oauth_providers", { userId })).oauthProviders;
      assert.deepEqual(
        linked.map(({ audience }: Json) => audience),
        [APP, "phone"],
      );
      assert.deepEqual(await verifiedIn(root.client, email), [client.organizationId]);
      const strange = (await createWorld(server())).root.client.with({ organizationId: client.organizationId });
      assert.equal((await strange.submit("create_oauth_providers", { userId, oauthProviders })).status, 401);
    });

    it("leads a sign-up to the account that has it, where the app links accounts", async () => {
      const app = await createApp(server(), {
        socialLinkingClientIds: [APP],
        walletKitSettings: { oauthClientIds: { google: "kit" } },
      });
      const { client, userId } = await addSubOrganization(app.root.client);
      const { organizationId } = client;
      const [email, written] = [newAddress(), newAddress()];
      await client.result("update_user_email", {
        userId,
        userEmail: email,
        verificationToken: await verificationTokenFor(server(), client, email),
      });
      const other = await addSubOrganization(app.root.client);
      await other.client.result("update_user", { userId: other.userId, userEmail: written });
      const key = generateApiKey();
      const signUp = async (claims: object, more: object = {}) => {
        const oidcToken = await googleToken({
          sub: newId(),
          aud: APP,
          nonce: nonceOfPublicKey(key.publicKey),
          ...claims,
        });
        const oauthProviders = [{ providerName: "Google", oidcToken }];
        const answer = await app.ask("signup_v2", { apiKeys: [], authenticators: [], oauthProviders, ...more });
        return { ...answer, oidcToken };
      };
      const linked = await signUp({ email: email.toUpperCase() }, { userName: "Ada" });
      assert.deepEqual([linked.organizationId, linked.userId], [organizationId, userId]);
      const { session } = await app.ask("oauth_login", { oidcToken: linked.oidcToken, publicKey: key.publicKey });
      assert.ok(session);
      const inSub = client.with({ key });
      assert.equal((await inSub.read("whoami")).userId, userId);
      const stranger = { apiKeyName: "key", publicKey: generateApiKey().publicKey, curveType: "API_KEY_CURVE_P256" };
      for (const [what, claims, more] of [
        ["an address that was only written down", { email: written }, {}],
        ["an address of nobody", { email: newAddress() }, {}],
        ["not verified", { email, email_verified: false }, {}],
        ["an app that does not link", { email, aud: "kit" }, {}],
        ["a key beside it", { email }, { apiKeys: [stranger] }],
      ] as const) {
        const made = await signUp(claims, more);
        assert.ok(![organizationId, other.client.organizationId].includes(made.organizationId), what);
      }
      const { iss, sub } = JSON.parse(Buffer.from(linked.oidcToken.split(".")[1] ?? "", "base64url").toString());
      const brought = { providerName: "Google", oidcToken: linked.oidcToken };
      const again = { apiKeys: [], authenticators: [], oauthProviders: [brought] };
      const answered = await app.ask("signup_v2", again);
      assert.deepEqual([answered.organizationId, answered.userId], [organizationId, userId], "the same again");
      const foreign = { ...brought, oidcClaims: { iss, sub, aud: "evil" } };
      for (const oauthProviders of [[foreign], [brought, foreign]]) {
        const refused = await app.call("signup_v2", { ...again, oauthProviders });
        assert.equal(refused.status, 400, "the claims of an app that is not the organization's");
        assert.match(refused.body.message, /`oauthProviders\.\d\.oidcToken` is not a proof that a parent may submit/);
      }
      const { oauthProviders } = await client.read("get_oauth_providers", { userId });
      assert.deepEqual(
        oauthProviders.map(({ audience }: Json) => audience),
        [APP],
      );
    });
  },
  async () => ({ outbound: await playedGoogle() }),
);
