import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Locator } from "playwright-core";
import { noBrowser, startBrowser } from "../support/browser.ts";
import { addUser, type Client, generateApiKey, type Json } from "../support/client.ts";
import {
  assertAccessible,
  credentialsOf,
  ensureConsole,
  goTo,
  openedPage,
  openStage,
  type Stage,
  savedBy,
  signedIn,
  signInWithText,
  visit,
} from "../support/console.ts";
import { startTestServer } from "../support/server.ts";
import { addAuthenticator } from "../support/virtual-authenticator.ts";

/** The console in a real browser, against a whole service: who is let in, and what stands around every page. */

const ETHEREUM_PATH = "m/44'/60'/0'/0/0";

/** The text that describes a field to those who do not see where it stands. */
const described = (field: Locator): Promise<string> =>
  field.evaluate((element) =>
    (element.getAttribute("aria-describedby") ?? "")
      .split(" ")
      .map((id) => document.getElementById(id)?.textContent ?? "")
      .join(" "),
  );

describe("the console", { skip: noBrowser }, () => {
  let stage: Stage;
  before(async () => {
    stage = await openStage("sqlite");
  });
  after(() => stage.close());

  const apiKeysOf = async (root: Client): Promise<Json[]> => {
    const { userId } = await root.read("whoami");
    return (await root.read("get_user", { userId })).user.apiKeys;
  };

  it("says what is wrong with a text that is none, and with a key that nobody knows", () =>
    stage.tell(
      async ({ page, root }) => {
        const credentials = page.getByRole("textbox", { name: "Credentials" });
        const signIn = page.getByRole("button", { name: "Sign in with an API key" });
        await credentials.fill("not JSON");
        await signIn.click();
        await page.getByRole("alert").filter({ hasText: "This is not JSON" }).waitFor();
        const { publicKey, privateKey } = generateApiKey();
        await credentials.fill(JSON.stringify({ ...credentialsOf(root), apiKey: { publicKey, privateKey } }));
        await signIn.click();
        await page.getByRole("alert").filter({ hasText: "could not find public key" }).waitFor();
      },
      { isSignedOut: true },
    ));

  it("makes a passkey, and signs in with it for as long as nobody signs out", () =>
    stage.tell(async ({ page, context, root }) => {
      await addAuthenticator(page);
      await goTo(page, "Users");
      await page.getByRole("link", { name: "Root user" }).click();
      await page.getByRole("button", { name: "Add a passkey" }).click();
      await page.getByRole("textbox", { name: "Name" }).fill("This machine");
      await page.getByRole("button", { name: "Make the passkey" }).click();
      await page.getByText("The passkey is added.").waitFor();
      await page.keyboard.press("Escape");
      await page.getByRole("button", { name: "Sign out" }).click();
      await page.getByRole("button", { name: "Sign in with a passkey" }).click();
      await signedIn(page);
      assert.equal((await apiKeysOf(root)).length, 2);
      await page.reload();
      await signedIn(page);
      // Another tab goes on with the same login; it ends for both, and a login made since is this tab's alone.
      const other = await context.newPage();
      await other.goto(stage.url);
      await signedIn(other);
      const gone = page.waitForResponse((answer) => answer.url().endsWith("/delete_api_keys"));
      await page.getByRole("button", { name: "Sign out" }).click();
      await (await gone).finished();
      assert.equal((await apiKeysOf(root)).length, 1);
      await page.reload();
      await page.getByRole("button", { name: "Sign in with a passkey" }).click();
      await signedIn(page);
      await goTo(other, "Private keys");
      await other.getByRole("button", { name: "Sign in again" }).click();
      await other.getByRole("button", { name: "Sign in with a passkey" }).waitFor();
      await other.close();
      await page.reload();
      await signedIn(page);
      assert.equal((await apiKeysOf(root)).length, 2);
    }));

  it("keeps an API key for no longer than the page is open", () =>
    stage.tell(async ({ page, root }) => {
      const kept = await page.evaluate(() =>
        JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie]),
      );
      assert.ok(!kept.includes(root.key.privateKey));
      await page.reload();
      await page.getByRole("button", { name: "Sign in with an API key" }).waitFor();
    }));

  it("asks who it is again when the credential is gone, and asks the server no more", () =>
    stage.tell(
      async ({ page, root }) => {
        const { userId, client } = await addUser(root, "Leaving");
        await page.clock.install();
        await signInWithText(page, credentialsOf(client));
        await root.result("delete_users", { userIds: [userId] });
        await goTo(page, "Private keys");
        await page.getByRole("alert").filter({ hasText: "could not find public key" }).waitFor();
        let asked = 0;
        page.on("request", () => asked++);
        await page.clock.runFor(120_000);
        assert.ok(asked <= 1, `asked ${asked} times with a key that was refused`);
        await page.getByRole("button", { name: "Sign in again" }).click();
        await page.getByRole("button", { name: "Sign in with an API key" }).waitFor();
      },
      { isSignedOut: true },
    ));

  it("says so when the server is gone", () =>
    stage.tell(async ({ page }) => {
      await page.route("**/public/**", (route) => route.abort());
      await goTo(page, "Private keys");
      await page.getByRole("alert").filter({ hasText: "The server does not answer." }).waitFor();
      await page.unroute("**/public/**");
      await page.getByRole("button", { name: "Try again" }).click();
      await page.getByText("There is no private key yet.").waitFor();
    }));

  it("asks once more for what the answer of was lost, and does nothing twice", () =>
    stage.tell(async ({ page, root }) => {
      const create = async (name: string) => {
        await page.getByRole("button", { name: "New user" }).click();
        await page.getByRole("textbox", { name: "Name" }).fill(name);
        await page.getByRole("button", { name: "Create user" }).click();
      };
      const namesOf = async () => (await root.read("list_users")).users.map(({ userName }: Json) => userName);
      /** The server does what it is asked, and its answer is lost. */
      const loseAnswers = (times: number) =>
        page.route(
          "**/submit/create_users",
          async (route) => {
            await route.fetch();
            await route.abort();
          },
          { times },
        );
      await goTo(page, "Users");
      await loseAnswers(1);
      await create("Once");
      await page.getByText("Once is a user now.").waitFor();
      // A key that nobody has elsewhere is not lost by a key or a click beside the dialog.
      await page.keyboard.press("Escape");
      await page.getByRole("button", { name: "Save credentials.json" }).waitFor();
      await page.getByRole("button", { name: "Close" }).last().click();
      await loseAnswers(2);
      await create("Twice");
      await page.getByRole("alert").filter({ hasText: "It is not known whether this was done" }).waitFor();
      // The key may be one that is in use.
      await page.getByRole("button", { name: "Save credentials.json" }).waitFor();
      await page.getByRole("button", { name: "Create user" }).click();
      await page.getByText("Twice is a user now.").waitFor();
      await page.getByRole("button", { name: "Close" }).last().click();
      // A server that restarts turns the second request away, and the third: neither says anything of the first.
      const unavailable = { code: 14, message: "restarting", details: [], turnkeyErrorCode: "" };
      await page.route("**/submit/create_users", (route) => route.fulfill({ status: 503, json: unavailable }), {
        times: 2,
      });
      await loseAnswers(1);
      await create("Thrice");
      const isUnknown = page.getByRole("alert").filter({ hasText: "It is not known whether this was done" });
      await isUnknown.waitFor();
      const turnedAway = page.waitForResponse((response) => response.status() === 503);
      await page.getByRole("button", { name: "Create user" }).click();
      await turnedAway;
      await page.getByRole("button", { name: "Create user" }).click();
      await page.getByText("Thrice is a user now.").waitFor();
      const names = await namesOf();
      assert.deepEqual(
        ["Once", "Twice", "Thrice"].map((sought) => names.filter((name: string) => name === sought).length),
        [1, 1, 1],
      );
    }));

  it("offers the key of a user who waits for approvals, as nobody has it later", () =>
    stage.tell(async ({ page, world, root }) => {
      const second = await world.quorumOfTwo();
      await goTo(page, "Users");
      await page.getByRole("button", { name: "New user" }).click();
      await page.getByRole("textbox", { name: "Name" }).fill("Later");
      await page.getByRole("button", { name: "Create user" }).click();
      await page.getByText("It waits for others to approve it.").waitFor();
      const save = page.getByRole("button", { name: "Save credentials.json" });
      const { apiKey } = JSON.parse(await savedBy(page, () => save.click()));
      const { activities } = await second.client.read("list_activities");
      const { status } = await second.client.submit("approve_activity", { fingerprint: activities[0].fingerprint });
      assert.equal(status, 200);
      const { username, userId } = await root.with({ key: apiKey }).read("whoami");
      assert.equal(username, "Later");
      await page.goto(`${stage.url}/#/users/${userId}`);
      await openedPage(page, "Later");
      await page.getByRole("button", { name: "Add an API key" }).click();
      await page.getByRole("textbox", { name: "Name" }).fill("second key");
      await page.getByRole("button", { name: "Add API key", exact: true }).click();
      await page.getByText("It waits for others to approve it.").waitFor();
      assert.equal(JSON.parse(await savedBy(page, () => save.click())).userId, userId);
    }));

  it("finds anything by one key", () =>
    stage.tell(async ({ page, root }) => {
      const dialog = page.getByRole("dialog", { name: "Search" });
      const search = async (text: string) => {
        await page.keyboard.press("Control+k");
        await dialog.getByRole("textbox").fill(text);
      };
      await search("no such thing");
      await dialog.getByText("Nothing is called that.").waitFor();
      await dialog.getByRole("textbox").fill(root.key.publicKey);
      await dialog.getByRole("link", { name: "Root user" }).waitFor();
      await page.keyboard.press("Enter");
      await openedPage(page, "Root user");
      const { activities } = await root.read("list_activities");
      await search(activities[0].id);
      await dialog.getByRole("link").waitFor();
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: "Votes" }).waitFor();
    }));

  it("says that a search found nothing only where it has looked everywhere", () =>
    stage.tell(async ({ page }) => {
      const looked = Promise.withResolvers<void>();
      await page.route("**/query/list_policies", async (route) => {
        await looked.promise;
        await route.abort();
      });
      await page.keyboard.press("Control+k");
      const dialog = page.getByRole("dialog", { name: "Search" });
      await dialog.getByRole("textbox").fill("no such thing");
      await dialog.getByText("Looking").waitFor();
      looked.resolve();
      await dialog.getByRole("alert").filter({ hasText: "The server does not answer." }).waitFor();
      await dialog.getByText("Nothing was found in what could be read.").waitFor();
      await page.unroute("**/query/list_policies");
      await dialog.getByRole("button", { name: "Try again" }).click();
      await dialog.getByText("Nothing is called that.").waitFor();
    }));

  it("makes a wallet by the form of its operation, which says by field what is wrong and keeps in step with the JSON", () =>
    stage.tell(async ({ page, root }) => {
      await goTo(page, "API");
      await page.getByRole("combobox", { name: "Operation" }).fill("create_wallet");
      await page.getByRole("option", { name: "create_wallet", exact: true }).click();
      const form = page.getByRole("region", { name: "Form" });
      await form.getByRole("button", { name: "Begin empty" }).click();
      const name = form.getByRole("textbox", { name: "walletName" });
      await form.getByText("This is required.").waitFor();
      await name.fill("Of a form");
      await form.getByText("This is required.").waitFor({ state: "hidden" });
      await form.getByRole("button", { name: "Add mnemonicLength" }).click();
      const length = form.getByRole("textbox", { name: "mnemonicLength" });
      await length.fill("twelve");
      await form.getByText("This must be a whole number.").waitFor();
      await length.fill("24");
      await form.getByRole("button", { name: "Add to accounts" }).click();
      const account = form.getByRole("group", { name: "accounts 1" });
      await account.getByRole("textbox", { name: "path" }).fill(ETHEREUM_PATH);
      await account.getByRole("combobox", { name: "addressFormat" }).fill("ADDRESS_FORMAT_ETHEREUM");
      await page.getByRole("option", { name: "ADDRESS_FORMAT_ETHEREUM", exact: true }).click();
      await assertAccessible(page, "API");
      const json = page.getByRole("textbox", { name: "Parameters" });
      const typed = await json.inputValue();
      await json.fill("{");
      await form.getByText("What is typed as JSON is no object.").waitFor();
      await json.fill(typed.replace("Of a form", "Of a form & JSON"));
      assert.equal(await name.inputValue(), "Of a form & JSON");
      await page.getByRole("button", { name: "Submit" }).click();
      await page.getByLabel("Answer").getByText("ACTIVITY_STATUS_COMPLETED").waitFor();
      const { wallets } = await root.read("list_wallets");
      assert.deepEqual(
        wallets.map(({ walletName }: Json) => walletName),
        ["Of a form & JSON"],
      );
      const { accounts } = await root.read("list_wallet_accounts");
      assert.deepEqual(
        accounts.map(({ path, addressFormat }: Json) => [path, addressFormat]),
        [[ETHEREUM_PATH, "ADDRESS_FORMAT_ETHEREUM"]],
      );
    }));

  it("says at the field what the server refuses of it, until it is changed, and in a note what no field of the form is", () =>
    stage.tell(async ({ page, root }) => {
      await goTo(page, "API");
      const form = page.getByRole("region", { name: "Form" });
      const json = page.getByRole("textbox", { name: "Parameters" });
      const submit = page.getByRole("button", { name: "Submit" });
      const note = page.getByRole("main").getByRole("alert");
      const choose = async (operation: string, parameters: Json) => {
        await page.getByRole("combobox", { name: "Operation" }).fill(operation);
        await page.getByRole("option", { name: operation, exact: true }).click();
        await json.fill(JSON.stringify(parameters));
      };
      const refusedAt = async (field: Locator, reason: string) => {
        await field.and(page.locator(":focus")).waitFor();
        assert.match(await described(field), new RegExp(reason));
        assert.equal(await note.count(), 0);
        await assertAccessible(page, reason);
      };
      const isRight = (field: Locator) => field.and(page.locator(":not([aria-invalid])")).waitFor();

      await choose("create_wallet", { walletName: "Odd", accounts: [], mnemonicLength: 13 });
      await submit.click();
      const length = form.getByRole("textbox", { name: "mnemonicLength" });
      await refusedAt(length, "This must be");
      assert.equal(await length.getAttribute("aria-invalid"), "true");
      await length.fill("12");
      await isRight(length);
      assert.equal(await note.count(), 0);

      const user = (userName: string, publicKey: string) => ({
        userName,
        apiKeys: [{ apiKeyName: "Key", publicKey, curveType: "API_KEY_CURVE_P256" }],
        authenticators: [],
        oauthProviders: [],
        userTags: [],
      });
      const ofNoKey = `02${"ff".repeat(32)}`;
      const { publicKey } = generateApiKey();
      await choose("create_users", { users: [user("Ada", publicKey), user("Grace", ofNoKey)] });
      await submit.click();
      const second = form.getByRole("group", { name: "users 2", exact: true });
      const key = second.getByRole("textbox", { name: "publicKey" });
      await refusedAt(key, "This must be a compressed public key");
      assert.equal(await key.getAttribute("aria-invalid"), "true");
      const first = form.getByRole("group", { name: "users 1", exact: true });
      await isRight(first.getByRole("textbox", { name: "publicKey" }));
      await key.fill(generateApiKey().publicKey);
      await isRight(key);
      await submit.click();
      await page.getByLabel("Answer").getByText("ACTIVITY_STATUS_COMPLETED").waitFor();
      const { users } = await root.read("list_users");
      assert.ok(users.some(({ userName }: Json) => userName === "Grace"));

      const account = {
        curve: "CURVE_SECP256K1",
        pathFormat: "PATH_FORMAT_BIP32",
        path: ETHEREUM_PATH,
        addressFormat: "ADDRESS_FORMAT_ETHEREUM",
      };
      const odd = { ...account, curve: "CURVE_ED25519" };
      await choose("create_wallet", { walletName: "Odd", accounts: [odd] });
      await submit.click();
      const format = form.getByRole("combobox", { name: "addressFormat" });
      await refusedAt(format, "This ");
      assert.equal(await format.getAttribute("aria-expanded"), "false", "the choices would cover what is wrong");
      await choose("create_wallet", { walletName: "Twice", accounts: [account, account] });
      await submit.click();
      await refusedAt(form.getByRole("group", { name: "accounts 2" }), "This is there twice");
      await form.getByRole("button", { name: "Remove accounts 1" }).click();
      await form.getByText("is there twice").waitFor({ state: "hidden" });

      await choose("create_wallet", { walletName: "Odd", accounts: [], colour: "red" });
      await submit.click();
      await note.getByText("`parameters.colour` is not a known field").waitFor();
      const entries = Array.from({ length: 60 }, (_, index) => ({ ...account, path: `m/44'/60'/0'/0/${index}` }));
      await choose("create_wallet", { walletName: "Many", accounts: entries.with(55, { ...account, path: "none" }) });
      await submit.click();
      await note.getByText("`parameters.accounts.55.path`").waitFor();
    }));

  it("sends any request of the API, from the example of its documentation", () =>
    stage.tell(async ({ page, root }) => {
      await goTo(page, "API");
      await page.getByRole("button", { name: "Ask" }).click();
      await page
        .getByLabel("Answer")
        .getByText((await root.read("whoami")).userId)
        .waitFor();
      await page.getByRole("combobox", { name: "Operation" }).fill("create_user_tag");
      await page.getByRole("option", { name: "create_user_tag", exact: true }).click();
      await page.getByRole("textbox", { name: "Parameters" }).fill(`{"userTagName": "it's typed", "userIds": []}`);
      await page
        .getByText(`npx keystead call create_user_tag '{"userTagName":"it'\\''s typed","userIds":[]}'`)
        .waitFor();
      const curl = await page.getByLabel("curl", { exact: true }).innerText();
      const [, sent = ""] = /--data-binary '(.*)'$/s.exec(curl) ?? [];
      const body = sent.replaceAll("'\\''", "'");
      const answered = await root.post("/public/v1/submit/create_user_tag", body);
      assert.equal(answered.body.activity.status, "ACTIVITY_STATUS_COMPLETED", JSON.stringify(answered.body));
      await page.getByLabel("TypeScript", { exact: true }).getByText("client.request").waitFor();
      await page.getByRole("textbox", { name: "Parameters" }).fill(`{"userTagName": "it's typed too", "userIds": []}`);
      await page.getByRole("button", { name: "Submit" }).click();
      await page.getByLabel("Answer").getByText("ACTIVITY_STATUS_COMPLETED").waitFor();
      const { userTags } = await root.read("list_user_tags");
      assert.deepEqual(userTags.map(({ tagName }: Json) => tagName).sort(), ["it's typed", "it's typed too"]);
    }));

  // Of the dark one, what its colours can break.
  const schemes = { light: undefined, dark: ["color-contrast"] };
  for (const [scheme, rules] of Object.entries(schemes) as ["light" | "dark", string[] | undefined][]) {
    it(`can be read by everybody (${scheme})`, () =>
      stage.tell(async ({ page }) => {
        await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
        const pages = page.getByRole("navigation", { name: "Pages" }).getByRole("link");
        for (const label of await pages.evaluateAll((links) => links.map(({ textContent }) => textContent ?? ""))) {
          await goTo(page, label);
          await page.getByLabel("Loading").first().waitFor({ state: "hidden" });
          await assertAccessible(page, `${label}, ${scheme}`, rules);
        }
        await goTo(page, "Policies");
        await page.getByRole("link", { name: "New policy" }).click();
        await openedPage(page, "New policy");
        await assertAccessible(page, `New policy, ${scheme}`, rules);
        await goTo(page, "Activities");
        await page.getByRole("table").getByRole("link").first().click();
        await page.getByRole("heading", { name: "Votes" }).waitFor();
        await assertAccessible(page, `Activity, ${scheme}`, rules);
      }));
  }
});

describe("the console of a first start", { skip: noBrowser }, () => {
  before(ensureConsole);

  it("lets who started it in by the link, once, and by the passkey as often as it takes", async () => {
    const server = await startTestServer("sqlite");
    const browser = await startBrowser();
    try {
      const { page, faults } = await visit(browser, server.firstVisitUrl as string);
      await addAuthenticator(page);
      await openedPage(page, "Welcome to Keystead");
      await assertAccessible(page, "Welcome");
      // The link is used up, and signing in fails for once.
      await page.route("**/submit/stamp_login", (route) => route.abort(), { times: 2 });
      await page.getByRole("button", { name: "Make a passkey and sign in" }).click();
      await page.getByRole("alert").filter({ hasText: "It is not known whether this was done" }).waitFor();
      await page.getByRole("button", { name: "Sign in with the passkey" }).click();
      await openedPage(page, "Overview");
      assert.ok(!page.url().includes("welcome"));
      const { user } = await server.root.read("get_user", { userId: server.credentials.userId });
      assert.deepEqual(
        user.authenticators.map(({ authenticatorName }: Json) => authenticatorName),
        ["First passkey"],
      );
      assert.deepEqual(faults, []);
      const again = await visit(browser, server.firstVisitUrl as string);
      await addAuthenticator(again.page);
      await again.page.getByRole("button", { name: "Make a passkey and sign in" }).click();
      await again.page.getByRole("alert").filter({ hasText: "it was used" }).waitFor();
      await again.page.getByRole("button", { name: "Sign in another way" }).click();
      await again.page.getByRole("button", { name: "Sign in with a passkey" }).waitFor();
    } finally {
      await browser.close();
      await server.close();
    }
  });

  it("is not there where it is switched off", async () => {
    const server = await startTestServer("sqlite", { settings: { KEYSTEAD_CONSOLE: "false" } });
    try {
      assert.equal(server.consoleUrl, undefined);
      assert.equal((await fetch(`${server.baseUrl}/`)).status, 404);
      assert.equal((await fetch(`${server.baseUrl}/assets/index.js`)).status, 404);
      assert.equal((await fetch(`${server.baseUrl}/healthz`)).status, 200);
    } finally {
      await server.close();
    }
  });
});
