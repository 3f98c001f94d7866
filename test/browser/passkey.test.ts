import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { Page } from "playwright-core";
import { type App, createApp } from "../support/auth-proxy.ts";
import { BROWSER_HANGS_AFTER_MS, noBrowser, startBrowser } from "../support/browser.ts";
import type { Json } from "../support/client.ts";
import { serveExample } from "../support/served-example.ts";
import { startTestServer, type TestServer } from "../support/server.ts";
import { addAuthenticator } from "../support/virtual-authenticator.ts";

/** The page of `examples/passkey/` in a real browser, with an authenticator that the browser simulates. */

const SERVE = join(import.meta.dirname, "..", "..", "examples", "passkey", "serve.ts");

describe("passkeys in a real browser", { skip: noBrowser }, () => {
  let server: TestServer;
  let app: App;
  let pageUrl: string;
  let page: Page;
  /** What was started, the last one first. */
  const ends: (() => Promise<unknown>)[] = [];

  before(async () => {
    server = await startTestServer("sqlite");
    ends.unshift(() => server.close());
    app = await createApp(server);
    const served = await serveExample(SERVE, server.baseUrl, app.configId, "0");
    ends.unshift(served.stop);
    pageUrl = served.url;
    const browser = await startBrowser();
    ends.unshift(() => browser.close());
    page = await browser.newPage();
    page.setDefaultTimeout(BROWSER_HANGS_AFTER_MS);
    await addAuthenticator(page);
  });
  after(async () => {
    for (const end of ends) await end();
  });

  /** What the page tells, once it tells something. */
  async function told(id: "outcome" | "problem"): Promise<string> {
    const element = page.locator(`#${id}`);
    await element.filter({ hasText: /./ }).waitFor();
    return element.innerText();
  }

  async function signUp(name: string): Promise<string> {
    await page.getByLabel("Your name").fill(name);
    await page.getByRole("button", { name: "Sign up with a passkey" }).click();
    const [, organizationId = ""] = /^Organization (.+)$/.exec(await told("outcome")) ?? [];
    return organizationId;
  }

  async function makeWallet(): Promise<string> {
    await page.getByRole("button", { name: "Create a wallet" }).click();
    const [, address = ""] = /^Address (0x[0-9a-fA-F]{40})$/.exec(await told("outcome")) ?? [];
    return address;
  }

  const organizations = async (): Promise<number> =>
    (await app.root.client.read("list_suborgs")).organizationIds.length;

  it("sign a user up, and stamp an activity of theirs", async () => {
    await page.goto(pageUrl);
    const organizationId = await signUp("Ada");
    const address = await makeWallet();

    const sub = app.root.client.with({ organizationId });
    const { wallets } = await sub.read("list_wallets");
    const { accounts } = await sub.read("list_wallet_accounts", { walletId: wallets[0].walletId });
    assert.deepEqual(
      accounts.map((account: Json) => account.address),
      [address],
    );
    const [user] = (await sub.read("list_users")).users;
    assert.deepEqual([user.userName, user.apiKeys.length, user.authenticators.length], ["Ada", 0, 1]);
    assert.deepEqual(user.authenticators[0].transports, ["AUTHENTICATOR_TRANSPORT_INTERNAL"]);
    const { activities } = await sub.read("list_activities", { filterByType: ["ACTIVITY_TYPE_CREATE_WALLET"] });
    const [{ votes }] = activities;
    assert.deepEqual(
      votes.map(({ userId, scheme, publicKey }: Json) => [userId, scheme, publicKey]),
      [[user.userId, "SIGNATURE_SCHEME_TK_WEBAUTHN", user.authenticators[0].credential.publicKey]],
    );
  });

  it("stamp again when the page is opened anew", async () => {
    await page.reload();
    await page.getByText("Signed up as Ada.").waitFor();
    assert.notEqual(await makeWallet(), "");
  });

  it("sign nobody up where the app's configuration does not name the page", async () => {
    const allow = (allowedOrigins: string[]) => app.root.client.result("update_auth_proxy_config", { allowedOrigins });
    await allow(["https://wallet.example.com"]);
    await page.evaluate("localStorage.clear()");
    await page.reload();
    const count = await organizations();
    await page.getByLabel("Your name").fill("Eve");
    await page.getByRole("button", { name: "Sign up with a passkey" }).click();
    assert.notEqual(await told("problem"), "");
    assert.equal(await organizations(), count);
    await allow([pageUrl]);
    assert.notEqual(await signUp("Grace"), "");
  });

  it("serve from the origins that the organization names, and from no other", async () => {
    const setOrigins = (value: string) =>
      app.root.client.result("set_organization_feature", { name: "FEATURE_NAME_WEBAUTHN_ORIGINS", value });
    await setOrigins("https://wallet.example.com");
    await page.getByRole("button", { name: "Create a wallet" }).click();
    assert.match(await told("problem"), /origin/);
    await setOrigins(pageUrl);
    assert.notEqual(await makeWallet(), "");
  });
});
