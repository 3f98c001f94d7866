import assert from "node:assert/strict";
import { it } from "node:test";
import type { TurnkeyClient, WalletProvider } from "@turnkey/core";
import { encryptOtpCodeToBundle } from "@turnkey/crypto";
import { newId } from "../../src/kernel/ids.ts";
import { nonceOfPublicKey } from "../../src/providers/oidc/nonce.ts";
import { type App, createApp } from "../support/auth-proxy.ts";
import type { Json } from "../support/client.ts";
import { issuerOfTests } from "../support/issuer.ts";
import { mailedCode, messagesOf, textedCode } from "../support/one-time-codes.ts";
import { startRealIssuer } from "../support/real-issuer.ts";
import { onOneEngine, startTestServer, type TestServer } from "../support/server.ts";
import { startTurnstile } from "../support/turnstile.ts";
import { type BrowserWallet, openWebPage } from "../support/web-page.ts";

/**
 * People of an app that is made with the published core client, unpatched: it is told the URLs of the API and of the auth proxy,
 * the organization and the configuration of its proxy, and nothing else.
 */

const page = openWebPage("https://app.example");
// Loaded when the page is there: it looks for the page's storage then.
const {
  Chain,
  getAuthProxyConfig,
  getClientParams,
  OtpType,
  TurnkeyClient: Core,
  TurnkeyErrorCodes,
} = await import("@turnkey/core");

/** A client on a page that nobody has signed in on. */
async function visit(server: TestServer, app: App): Promise<TurnkeyClient> {
  page.forget();
  const core = new Core({
    apiBaseUrl: server.baseUrl,
    authProxyUrl: server.authProxyUrl,
    authProxyConfigId: app.configId,
    organizationId: app.root.client.organizationId,
    passkeyConfig: { rpId: "app.example" },
    walletConfig: {
      features: { auth: true, connecting: false },
      chains: { ethereum: { native: true }, solana: { native: true } },
    },
  });
  await core.init();
  return core;
}

let people = 0;
const newAddress = (): string => `core-${process.pid}-${++people}@example.com`;

const newNumber = (): string => `+1415555${String(++people).padStart(4, "0")}`;

const organizationOf = (session: string): string =>
  JSON.parse(Buffer.from(session.split(".")[1] as string, "base64url").toString()).organization_id;

const ETHEREUM_ACCOUNT = {
  curve: "CURVE_SECP256K1",
  pathFormat: "PATH_FORMAT_BIP32",
  path: "m/44'/60'/0'/0/0",
  addressFormat: "ADDRESS_FORMAT_ETHEREUM",
} as const;

/** Whether a refusal is for this reason; the client wraps what the service says in words of its own. */
const because = (reason: RegExp) => (error: Error) => {
  assert.match((error.cause as Error | undefined)?.message ?? error.message, reason);
  return true;
};

/** Makes a wallet and signs by it, with whatever key the session has. */
async function useAccount(core: TurnkeyClient): Promise<void> {
  const made = await core.createWallet({ walletName: "First", accounts: [ETHEREUM_ACCOUNT] });
  const [account] = (await core.fetchWallets()).find(({ walletId }) => walletId === made)?.accounts ?? [];
  assert.ok(account);
  const { r, s } = await core.signMessage({ walletAccount: account, message: "hello" });
  assert.match(r + s, /^[0-9a-f]{128}$/);
}

onOneEngine("sqlite", "the published core client", (server) => {
  for (const chain of [Chain.Ethereum, Chain.Solana]) {
    it(`signs people up and in with an account of ${chain}`, async () => {
      const app = await createApp(server());
      const wallet = chain === Chain.Ethereum ? page.addEthereumWallet() : page.addSolanaWallet();
      const core = await visit(server(), app);
      const walletProvider = await providerOf(core, chain, wallet);
      const signedUp = await core.signUpWithWallet({ walletProvider, createSubOrgParams: { userName: "Ada" } });
      assert.equal(signedUp.address.toLowerCase(), wallet.address.toLowerCase());
      const organizationId = organizationOf(signedUp.sessionToken);
      assert.equal((await core.fetchUser()).userName, "Ada");
      await useAccount(core);
      await core.logout();

      const again = await core.loginWithWallet({ walletProvider });
      assert.equal(organizationOf(again.sessionToken), organizationId);
      assert.equal((await core.httpClient.getWhoami({ organizationId })).organizationId, organizationId);
      await core.logout();
      await assert.rejects(core.fetchUser(), because(/No active session found/));
    });

    it(`finds out whether an account of ${chain} is known`, async () => {
      const app = await createApp(server());
      const wallet = chain === Chain.Ethereum ? page.addEthereumWallet() : page.addSolanaWallet();
      const enter = async () => {
        const core = await visit(server(), app);
        const walletProvider = await providerOf(core, chain, wallet);
        return core.loginOrSignupWithWallet({ walletProvider });
      };
      const first = await enter();
      const second = await enter();
      assert.deepEqual([first.action, second.action], ["SIGNUP", "LOGIN"]);
      assert.equal(organizationOf(second.sessionToken), organizationOf(first.sessionToken));
    });
  }

  it("signs people up and in with a passkey", async () => {
    const app = await createApp(server());
    const core = await visit(server(), app);
    const signedUp = await core.signUpWithPasskey({
      passkeyDisplayName: "Phone",
      createSubOrgParams: {
        userName: "Ada",
        customWallet: { walletName: "First", walletAccounts: [ETHEREUM_ACCOUNT] },
      },
    });
    const organizationId = organizationOf(signedUp.sessionToken);
    assert.equal(signedUp.credentialId, page.passkeys.at(-1)?.credentialId);
    const [first] = await core.fetchWallets();
    assert.equal(first?.accounts.length, 1);
    const { authenticators, userName } = await core.fetchUser();
    assert.deepEqual([userName, authenticators.map((each) => each.authenticatorName)], ["Ada", ["Phone"]]);

    const elsewhere = await visit(server(), app);
    const again = await elsewhere.loginWithPasskey();
    assert.deepEqual([organizationOf(again.sessionToken), again.credentialId], [organizationId, signedUp.credentialId]);
    assert.equal((await elsewhere.fetchWallets())[0]?.walletId, first?.walletId);
  });

  it("signs people up and in by an OIDC token", async () => {
    const issuer = await startRealIssuer();
    try {
      const app = await createApp(server());
      const enter = async (login: string) => {
        const core = await visit(server(), app);
        const publicKey = await core.createApiKeyPair();
        const oidcToken = await issuer.signIn(login, nonceOfPublicKey(publicKey));
        return { core, publicKey, oidcToken };
      };
      const first = await enter("ada");
      const createSubOrgParams = { userName: "Ada" };
      const signedUp = await first.core.completeOauth({ ...first, createSubOrgParams, providerName: "Issuer" });
      assert.equal(signedUp.action, "SIGNUP");
      const organizationId = organizationOf(signedUp.sessionToken);
      const { oauthProviders, userName } = await first.core.fetchUser();
      assert.deepEqual([userName, oauthProviders.map(({ providerName }) => providerName)], ["Ada", ["Issuer"]]);
      await useAccount(first.core);

      const second = await enter("ada");
      const again = await second.core.completeOauth(second);
      assert.deepEqual([again.action, organizationOf(again.sessionToken)], ["LOGIN", organizationId]);
      assert.equal((await second.core.fetchUser()).userName, "Ada");

      const third = await enter("ada");
      const found = await third.core.loginWithOauth(third);
      assert.equal(organizationOf(found.sessionToken), organizationId, "known by the token alone");

      const grace = await enter("grace");
      const other = await grace.core.signUpWithOauth({ ...grace, providerName: "Issuer" });
      assert.notEqual(organizationOf(other.sessionToken), organizationId);
      const { oidcToken } = await enter("ada");
      await assert.rejects(
        grace.core.loginWithOauth({ oidcToken, publicKey: await grace.core.createApiKeyPair() }),
        because(/its OIDC token is bound to another key/),
      );
    } finally {
      await issuer.close();
    }
  });

  for (const otpType of [OtpType.Email, OtpType.Sms])
    it(`signs people up and in by codes of ${otpType}`, async () => {
      const app = await createApp(server());
      await app.root.client.result("set_organization_feature", { name: "FEATURE_NAME_SMS_AUTH", value: "" });
      const contact = otpType === OtpType.Email ? newAddress() : newNumber();
      const first = await visit(server(), app);
      const verificationToken = await verify(server(), first, contact);
      assert.deepEqual(await accountOf(first, contact, verificationToken), {});
      const signedUp = await first.signUpWithOtp({
        verificationToken,
        contact,
        otpType,
        createSubOrgParams: {
          userName: "Ada",
          customWallet: { walletName: "Made with the account", walletAccounts: [ETHEREUM_ACCOUNT] },
        },
      });
      const organizationId = organizationOf(signedUp.sessionToken);
      const { userName, userEmail, userPhoneNumber } = await first.fetchUser();
      assert.deepEqual([userName, userEmail ?? userPhoneNumber], ["Ada", contact]);
      assert.equal((await first.fetchWallets()).length, 1);

      const second = await visit(server(), app);
      const token = await verify(server(), second, contact);
      assert.deepEqual(await accountOf(second, contact, token), { organizationId });
      const named = await second.loginWithOtp({ verificationToken: token, organizationId });
      assert.equal(organizationOf(named.sessionToken), organizationId);
      assert.equal((await second.fetchUser()).userName, "Ada");
      await assert.rejects(
        second.loginWithOtp({ verificationToken: token, organizationId }),
        because(/its token has already been used for a login/),
      );

      const third = await visit(server(), app);
      const found = await third.loginWithOtp({ verificationToken: await verify(server(), third, contact) });
      assert.equal(organizationOf(found.sessionToken), organizationId, "known by the verified address alone");
      await useAccount(third);
    });

  it("says what went wrong in its own words", async () => {
    const app = await createApp(server());
    const core = await visit(server(), app);
    const contact = newAddress();
    const { otpId, otpEncryptionTargetBundle } = await core.initOtp({ otpType: OtpType.Email, contact });
    const wrong = await encryptCode(server(), core, "000000000", otpEncryptionTargetBundle);
    await assert.rejects(core.httpClient.proxyVerifyOtpV2({ otpId, ...wrong }), /Invalid OTP code/);
    for (const _ of "23") await core.initOtp({ otpType: OtpType.Email, contact });
    const { MAX_OTP_INITIATED_ERROR: code } = TurnkeyErrorCodes;
    await assert.rejects(core.initOtp({ otpType: OtpType.Email, contact }), { code });
  });

  it("asks first what the app shows", async () => {
    const app = await createApp(server(), { allowedAuthMethods: ["passkey"] });
    const { enabledProviders, organizationId } = await getAuthProxyConfig(app.configId, server().authProxyUrl);
    assert.deepEqual([enabledProviders, organizationId], [["passkey"], app.root.client.organizationId]);
    assert.deepEqual(await getClientParams(app.configId, server().authProxyUrl), {});
  });

  it("adds further ways in, which find the same account", async () => {
    const issuer = await issuerOfTests();
    const app = await createApp(server());
    const core = await visit(server(), app);
    const walletProvider = await providerOf(core, Chain.Ethereum, page.addEthereumWallet());
    const createSubOrgParams = { userTag: "beta" };
    const { sessionToken } = await core.signUpWithWallet({ walletProvider, createSubOrgParams });
    const organizationId = organizationOf(sessionToken);
    assert.equal((await core.fetchUser()).userTags.length, 1);
    await core.addPasskey({ name: "Phone" });
    const sub = newId();
    await core.addOauthProvider({ providerName: "Issuer", oidcToken: await issuer.token({ sub }) });

    const byPasskey = await visit(server(), app);
    const { sessionToken: first } = await byPasskey.loginWithPasskey();
    const byToken = await visit(server(), app);
    const publicKey = await byToken.createApiKeyPair();
    const oidcToken = await issuer.token({ sub, nonce: nonceOfPublicKey(publicKey) });
    const { sessionToken: second, action } = await byToken.completeOauth({ oidcToken, publicKey });
    assert.equal(action, "LOGIN");
    assert.deepEqual([first, second].map(organizationOf), [organizationId, organizationId]);
  });

  it("renews its session, shows an address to be its own, and takes ways in away", async () => {
    const issuer = await issuerOfTests();
    const app = await createApp(server());
    const core = await visit(server(), app);
    const { sessionToken } = await core.signUpWithPasskey({ passkeyDisplayName: "Phone" });
    const organizationId = organizationOf(sessionToken);
    // The client's own spelling.
    const renewed = await core.refreshSession({ expirationSeconds: "1800", invalidateExisitng: true });
    const sessions = (await core.fetchUser()).apiKeys.filter(
      ({ credential }) => credential.type === "CREDENTIAL_TYPE_LOGIN",
    );
    assert.deepEqual(
      sessions.map(({ expirationSeconds }) => expirationSeconds),
      ["1800"],
    );
    assert.equal(organizationOf(renewed?.session ?? ""), organizationId);
    const contact = newAddress();
    await core.updateUserEmail({ email: contact, verificationToken: await verify(server(), core, contact) });

    const byCode = await visit(server(), app);
    const found = await byCode.loginWithOtp({ verificationToken: await verify(server(), byCode, contact) });
    assert.equal(organizationOf(found.sessionToken), organizationId);
    const oidcToken = await issuer.token({ sub: newId() });
    const providerIds = await byCode.addOauthProvider({ providerName: "Issuer", oidcToken });
    await byCode.removeOauthProviders({ providerIds });
    const [phone] = (await byCode.fetchUser()).authenticators;
    await byCode.addPasskey({ name: "Tablet" });
    await byCode.removePasskeys({ authenticatorIds: [phone?.authenticatorId ?? ""] });
    const { authenticators, oauthProviders } = await byCode.fetchUser();
    assert.deepEqual([authenticators.map((each) => each.authenticatorName), oauthProviders], [["Tablet"], []]);

    const other = await visit(server(), app);
    await other.signUpWithPasskey();
    const verificationToken = await verify(server(), other, contact);
    await assert.rejects(
      other.updateUserEmail({ email: contact, verificationToken }),
      because(/is already associated with another user/),
    );
  });
});

/**
 * A token for a contact, as `verifyOtp` of the client gets one. It would encrypt the code to a key of the hosted service, which it
 * does not let anybody replace; the function that it encrypts with does.
 */
async function verify(server: TestServer, core: TurnkeyClient, contact: string): Promise<string> {
  const isEmail = contact.includes("@");
  const known = new Set(messagesOf(server));
  const otpType = isEmail ? OtpType.Email : OtpType.Sms;
  const { otpId, otpEncryptionTargetBundle } = await core.initOtp({ otpType, contact });
  const code = await (isEmail ? mailedCode : textedCode)(server, contact, known);
  const encrypted = await encryptCode(server, core, code, otpEncryptionTargetBundle);
  return (await core.httpClient.proxyVerifyOtpV2({ otpId, ...encrypted })).verificationToken;
}

async function encryptCode(server: TestServer, core: TurnkeyClient, code: string, bundle: string) {
  const { serviceKeys } = (await (await fetch(`${server.baseUrl}/.well-known/keystead.json`)).json()) as Json;
  const [{ publicKey: ours }] = serviceKeys.otp;
  return { encryptedOtpBundle: await encryptOtpCodeToBundle(code, bundle, await core.createApiKeyPair(), ours) };
}

const accountOf = (core: TurnkeyClient, contact: string, verificationToken: string) => {
  const filterType = contact.includes("@") ? "EMAIL" : "PHONE_NUMBER";
  return core.httpClient.proxyGetAccount({ filterType, filterValue: contact, verificationToken });
};

async function providerOf(core: TurnkeyClient, chain: string, { name }: BrowserWallet): Promise<WalletProvider> {
  const providers = await core.fetchWalletProviders(chain as never);
  const found = providers.find(({ info }) => info.name === name);
  assert.ok(found, `a page finds the wallet ${name}`);
  return found;
}

it("brings solved captchas to a proxy with a port of its own", async () => {
  const turnstile = await startTurnstile();
  const server = await startTestServer("sqlite", {
    settings: {
      KEYSTEAD_AUTH_PROXY_PORT: "0",
      KEYSTEAD_TURNSTILE_URL: turnstile.url,
      KEYSTEAD_TURNSTILE_SITE_KEY: "site key",
      KEYSTEAD_TURNSTILE_SECRET: turnstile.secret,
    },
  });
  try {
    assert.notEqual(server.authProxyUrl, server.baseUrl);
    const app = await createApp(server, { captchaEnabled: true });
    assert.deepEqual(await getClientParams(app.configId, server.authProxyUrl), { turnstileSiteKey: "site key" });
    const core = await visit(server, app);
    const code = { otpType: OtpType.Email, contact: newAddress() };
    await assert.rejects(core.initOtp(code), because(/X-Captcha-Token header is required/));
    await core.initOtp({ ...code, captchaToken: turnstile.solve() });
    const walletProvider = await providerOf(core, Chain.Ethereum, page.addEthereumWallet());
    await assert.rejects(
      core.signUpWithWallet({ walletProvider, captchaToken: "guessed" }),
      because(/captcha verification failed/),
    );
    await core.signUpWithWallet({ walletProvider, captchaToken: turnstile.solve() });
    assert.match((await core.fetchUser()).userName, /^user-/);
  } finally {
    await server.close();
    await turnstile.close();
  }
});
