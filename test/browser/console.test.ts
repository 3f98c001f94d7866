import assert from "node:assert/strict";
import { renameSync } from "node:fs";
import { before, describe, it } from "node:test";
import { noBrowser, startBrowser } from "../support/browser.ts";
import { addUser, type Client, generateApiKey, type Json } from "../support/client.ts";
import { ensureConsole, storiesOn, visit } from "../support/console.ts";
import {
  assertAccessible,
  credentialsOf,
  goTo,
  openedPage,
  savedBy,
  signedIn,
  signInWithText,
} from "../support/console-page.ts";
import { engines, startTestServer } from "../support/server.ts";
import { until } from "../support/until.ts";
import { addAuthenticator } from "../support/virtual-authenticator.ts";
import { addSubOrganization } from "../support/world.ts";

/** The console in a real browser, against a whole service: who is let in, and what stands around every page. */

storiesOn("sqlite", "the console", (stage) => {
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
      await page.getByRole("button", { name: "Create the passkey" }).click();
      await page.getByText("The passkey was added.").waitFor();
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
      await page.getByText("There are no private keys yet.").waitFor();
    }));

  it("says so when the signer is down, and goes on when it is back", () =>
    stage.tell(async ({ page, root }) => {
      const { dataDir, opened } = stage.server;
      const { signer } = opened;
      // Without its root key no other process takes the place of the one that is killed.
      renameSync(`${dataDir}/root.key`, `${dataDir}/root.key.away`);
      try {
        process.kill(signer.pid as number, "SIGKILL");
        await until(() => signer.state === "failed");
        const health = page.getByRole("main").getByText("the signer process is down");
        await goTo(page, "Overview");
        await health.waitFor();
        await goTo(page, "Wallets");
        await page.getByRole("button", { name: "New wallet" }).click();
        await page.getByRole("textbox", { name: "Name" }).fill("By nobody");
        await page.getByRole("button", { name: "Create wallet" }).click();
        const note = page.getByRole("alert").filter({ hasText: "Whoever runs the server finds the reason in its log" });
        await note.waitFor();
        assert.deepEqual((await root.read("list_wallets")).wallets, []);
      } finally {
        renameSync(`${dataDir}/root.key.away`, `${dataDir}/root.key`);
        await until(() => signer.state === "ready");
      }
      await page.getByRole("button", { name: "Create wallet" }).click();
      await page.getByText("The wallet was created.").waitFor();
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
      await page.getByText("It is waiting for others to approve it.").waitFor();
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
      await page.getByText("It is waiting for others to approve it.").waitFor();
      assert.equal(JSON.parse(await savedBy(page, () => save.click())).userId, userId);
    }));

  it("finds anything by one key", () =>
    stage.tell(async ({ page, root }) => {
      await root.result("create_user_tag", { userTagName: "Treasurers", userIds: [] });
      await root.result("create_invitations", {
        invitations: [
          {
            receiverUserName: "Ada",
            receiverUserEmail: "ada@example.com",
            receiverUserTags: [],
            accessType: "ACCESS_TYPE_ALL",
            senderUserId: (await root.read("whoami")).userId,
          },
        ],
      });
      const dialog = page.getByRole("dialog", { name: "Search" });
      const search = async (text: string) => {
        await page.keyboard.press("Control+k");
        await dialog.getByRole("textbox").fill(text);
      };
      await search("no such thing");
      await dialog.getByText("Nothing has that name.").waitFor();
      await dialog.getByRole("textbox").fill(root.key.publicKey);
      await dialog.getByRole("link", { name: "Root user" }).waitFor();
      await page.keyboard.press("Enter");
      await openedPage(page, "Root user");
      const { activities } = await root.read("list_activities");
      await search(activities[0].id);
      await dialog.getByRole("link").waitFor();
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: "Votes" }).waitFor();
      const { client } = await addSubOrganization(root, { subOrganizationName: "Corner shop" });
      for (const [text, name, title] of [
        ["treasur", "Treasurers", "Organization"],
        ["Corner shop", "Corner shop", "Corner shop"],
        [client.organizationId, "Corner shop", "Corner shop"],
        ["ada@example", "Ada", "Organization"],
        ["user tag", "Create user tag", "Activities"],
        ["TYPE_CREATE_USER_TAG", "Create user tag", "Activities"],
      ] as const) {
        await search(text);
        await dialog.getByRole("link", { name, exact: true }).click();
        await openedPage(page, title);
      }
    }));

  it("takes a credentials file that is dropped on the page", () =>
    stage.tell(
      async ({ page, root }) => {
        const text = JSON.stringify(credentialsOf(root));
        const files = await page.evaluateHandle((content) => {
          const data = new DataTransfer();
          data.items.add(new File([content], "credentials.json", { type: "application/json" }));
          return data;
        }, text);
        const field = page.getByRole("textbox", { name: "Credentials" });
        await field.dispatchEvent("dragover", { dataTransfer: files });
        await field.dispatchEvent("drop", { dataTransfer: files });
        await signedIn(page);
      },
      { isSignedOut: true },
    ));

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
      await dialog.getByText("Searching").waitFor();
      looked.resolve();
      await dialog.getByRole("alert").filter({ hasText: "The server does not answer." }).waitFor();
      await dialog.getByText("Nothing was found in what could be read.").waitFor();
      await page.unroute("**/query/list_policies");
      await dialog.getByRole("button", { name: "Try again" }).click();
      await dialog.getByText("Nothing has that name.").waitFor();
    }));

  it("says so when its clock is wrong by an hour", () =>
    stage.tell(
      async ({ page, root }) => {
        await page.clock.install({ time: Date.now() + 3_600_000 });
        await signInWithText(page, credentialsOf(root));
        await goTo(page, "Wallets");
        await page.getByRole("button", { name: "New wallet" }).click();
        await page.getByRole("textbox", { name: "Name" }).fill("An hour ahead");
        await page.getByRole("button", { name: "Create wallet" }).click();
        const note = page.getByRole("alert").filter({ hasText: "This machine's clock and the server's clock differ." });
        await note.getByText("Set this machine's clock, then try again.").waitFor();
        assert.deepEqual((await root.read("list_wallets")).wallets, []);
      },
      { isSignedOut: true },
    ));

  it("says so when the passkey is refused, and lets in another way", () =>
    stage.tell(
      async ({ page, root }) => {
        // One that has no passkey for this address.
        await addAuthenticator(page);
        await page.getByRole("textbox", { name: "Organization" }).fill(root.organizationId);
        await page.getByRole("button", { name: "Sign in with a passkey" }).click();
        await page.getByRole("alert").filter({ hasText: "The passkey was not used." }).waitFor();
        await signInWithText(page, credentialsOf(root));
      },
      { isSignedOut: true },
    ));
});

for (const engine of engines) {
  describe(`the console of a first start (${engine})`, { skip: noBrowser }, () => {
    before(ensureConsole);

    it("lets who started it in by the link, once, and by the passkey as often as it takes", async () => {
      const server = await startTestServer(engine);
      const browser = await startBrowser();
      try {
        const { page, faults } = await visit(browser, server.firstVisitUrl as string);
        await addAuthenticator(page);
        await openedPage(page, "Welcome to Keystead");
        await assertAccessible(page, "Welcome");
        // The link is used up, and signing in fails for once.
        await page.route("**/submit/stamp_login", (route) => route.abort(), { times: 2 });
        await page.getByRole("button", { name: "Create a passkey and sign in" }).click();
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
        await again.page.getByRole("button", { name: "Create a passkey and sign in" }).click();
        await again.page.getByRole("alert").filter({ hasText: "it has been used" }).waitFor();
        await again.page.getByRole("button", { name: "Sign in another way" }).click();
        await again.page.getByRole("button", { name: "Sign in with a passkey" }).waitFor();
      } finally {
        await browser.close();
        await server.close();
      }
    });

    it("is not there where it is switched off", async () => {
      const server = await startTestServer(engine, { settings: { KEYSTEAD_CONSOLE: "false" } });
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
}
