import assert from "node:assert/strict";
import { it } from "node:test";
import type { Locator, Page } from "playwright-core";
import type { Json } from "../support/client.ts";
import { activityThatWaits, storiesOn } from "../support/console.ts";
import { credentialsOf, focused, signInWithText } from "../support/console-page.ts";
import { arrivedAt, choose, keyTo, pressAt, step, tabTo, typeAt, walkThrough } from "../support/keyboard.ts";
import { areLong } from "../support/long-tests.ts";

const ETHEREUM_ACCOUNT = {
  curve: "CURVE_SECP256K1",
  pathFormat: "PATH_FORMAT_BIP32",
  path: "m/44'/60'/0'/0/0",
  addressFormat: "ADDRESS_FORMAT_ETHEREUM",
};

/** All areas of the console by the keyboard alone, in a real browser: nothing here is clicked, filled or focused. */
storiesOn("sqlite", "the console by the keyboard alone", (stage) => {
  const dialogOf = (page: Page): Locator => page.getByRole("dialog");
  const inDialog = (page: Page, name: string): Locator => dialogOf(page).getByRole("button", { name, exact: true });
  const nameIn = (page: Page): Locator => dialogOf(page).getByRole("textbox", { name: "Name" });
  const button = (page: Page, name: string): Locator =>
    page.getByRole("main").getByRole("button", { name, exact: true });
  const link = (page: Page, name: string): Locator => page.getByRole("main").getByRole("link", { name, exact: true });
  const wallet = { walletName: "Savings", accounts: [] };

  it("signs in with what is pasted, skips the menu, and begins", () =>
    stage.tell(
      async ({ page, root }) => {
        const credentials = page.getByRole("textbox", { name: "Credentials" });
        const signIn = page.getByRole("button", { name: "Sign in with an API key" });
        await typeAt(credentials, "no credentials");
        await pressAt(signIn);
        await page.getByRole("alert").filter({ hasText: "This is not JSON" }).waitFor();
        await focused(signIn);
        await tabTo(credentials, "Shift+Tab");
        await page.keyboard.press("Control+a");
        await page.keyboard.insertText(JSON.stringify(credentialsOf(root)));
        await pressAt(signIn);
        await arrivedAt(page, "Overview");
        await pressAt(page.getByRole("button", { name: "Skip to content" }), "Shift+Tab");
        await focused(page.getByRole("main"));
        await pressAt(link(page, "Create a wallet"));
        await arrivedAt(page, "Wallets");
        await keyTo(page, "Overview");
        await pressAt(page.getByRole("button", { name: "Sign out" }), "Shift+Tab");
        await signIn.waitFor();
      },
      { isSignedOut: true },
    ));

  // As windows are in which everything is two and four times as large.
  for (const { window, size, isSmall } of [
    { window: "a narrow window", size: { width: 320, height: 640 }, isSmall: true },
    ...(areLong ? [{ window: "a low one", size: { width: 1280, height: 400 }, isSmall: false }] : []),
  ])
    it(`reaches every place of every page in its order, and nothing lies over where it is (${window})`, () =>
      stage.tell(
        async ({ page, root }) => {
          const { walletId } = await root.result("create_wallet", { ...wallet, accounts: [ETHEREUM_ACCOUNT] });
          const { userId } = await root.read("whoami");
          const key = { privateKeyName: "key", curve: "CURVE_ED25519", privateKeyTags: [], addressFormats: [] };
          await root.result("create_private_keys", { privateKeys: [key] });
          await root.result("create_user_tag", { userTagName: "Told", userIds: [] });
          await root.result("create_webhook_endpoint", { name: "Told", url: "https://hooks.example.com/" });
          const activityId = await activityThatWaits(root);
          await page.setViewportSize(size);
          await signInWithText(page, credentialsOf(root));
          const menu = page.getByRole("navigation", { name: "Pages", includeHidden: true }).locator("a[href*='#/']");
          const labels = await menu.evaluateAll((all) => all.map(({ textContent }) => textContent));
          assert.equal(labels.length, 12);
          await arrivedAt(page, "Overview");
          await walkThrough(page);
          for (const label of labels.slice(1)) {
            const title = label.replace(/[0-9].*/, "");
            if (isSmall) await pressAt(page.getByRole("button", { name: "Pages" }), "Shift+Tab");
            await keyTo(page, title, isSmall ? "Tab" : "Shift+Tab");
            await walkThrough(page);
          }
          const further = {
            [`wallets/${walletId}`]: "Savings",
            [`users/${userId}`]: "Root user",
            [`activities/${activityId}`]: "Create wallet",
            "policies/new": "New policy",
            "policies/simulate": "Simulate",
          };
          for (const [path, title] of Object.entries(further)) {
            await page.goto(`${stage.url}/#/${path}`);
            await arrivedAt(page, title);
            await walkThrough(page);
          }
        },
        { isSignedOut: true },
      ));

  for (const { act, does, status, told } of [
    { act: "Approve", does: "approves", status: "Completed", told: "You approved it." },
    { act: "Reject", does: "rejects", status: "Rejected", told: "You rejected it." },
  ])
    it(`${does} what waits, by the very bytes that it showed`, () =>
      stage.tell(async ({ page, root }) => {
        const activityId = await activityThatWaits(root);
        await keyTo(page, "Activities");
        await pressAt(link(page, "Create wallet"));
        await arrivedAt(page, "Create wallet");
        await pressAt(button(page, act));
        await focused(dialogOf(page).locator("[data-autofocus]"));
        const bytes = dialogOf(page).getByLabel("What is stamped");
        await tabTo(bytes);
        const shown = await bytes.innerText();
        await pressAt(inDialog(page, act));
        await page.getByRole("status").filter({ hasText: told }).waitFor();
        await page.getByText(status, { exact: true }).first().waitFor();
        await button(page, act).waitFor({ state: "detached" });
        await focused(page.getByRole("heading", { level: 1 }));
        const { activity } = await root.read("get_activity", { activityId });
        assert.ok(activity.votes.some(({ message }: Json) => message === shown));
      }));

  it("makes a wallet, gives it an account and another name, signs, and leaves an export", () =>
    stage.tell(async ({ page, root }) => {
      await keyTo(page, "Wallets");
      await pressAt(button(page, "New wallet"));
      await focused(nameIn(page));
      await page.keyboard.type("Savings");
      await pressAt(inDialog(page, "Create wallet"));
      await pressAt(dialogOf(page).getByRole("link", { name: "Open it" }));
      await arrivedAt(page, "Savings");
      const add = button(page, "Add an account");
      await pressAt(add);
      const format = dialogOf(page).getByRole("combobox", { name: "Format" });
      await focused(format);
      assert.equal(await page.getByRole("option").count(), 0);
      await page.keyboard.press("Control+a");
      await page.keyboard.type("Solana");
      await choose(page, "Solana");
      await typeAt(nameIn(page), "Third");
      await page.keyboard.press("Enter");
      await page.getByRole("cell", { name: "Third", exact: true }).waitFor();
      await focused(add);
      const { accounts } = await root.read("list_wallet_accounts");
      const { address } = accounts.find(({ name }: Json) => name === "Third");
      const sign = button(page, `Sign a message with ${address}`);
      await pressAt(sign);
      await focused(dialogOf(page).getByRole("textbox", { name: "Message" }));
      await page.keyboard.type("hello");
      await pressAt(inDialog(page, "Sign"));
      await dialogOf(page).getByText("Signed:").waitFor();
      await page.keyboard.press("Escape");
      await focused(sign);
      const open = button(page, "Export");
      await pressAt(open, "Shift+Tab");
      await focused(dialogOf(page).getByRole("textbox", { name: "Type Savings to confirm" }));
      await page.keyboard.press("Escape");
      await focused(open);
      await pressAt(button(page, "Rename"), "Shift+Tab");
      await focused(nameIn(page));
      await page.keyboard.press("Control+a");
      await page.keyboard.type("Spending");
      await page.keyboard.press("Enter");
      await arrivedAt(page, "Spending");
      await pressAt(link(page, `Open ${address}`));
      await arrivedAt(page, "Address");
      await tabTo(page.getByRole("combobox", { name: "Chain" }));
      await choose(page, "Solana Devnet");
      await keyTo(page, "Wallets");
    }));

  it("adds a user with a key, another key that is deleted, and a tag", () =>
    stage.tell(async ({ page, root }) => {
      await keyTo(page, "Users");
      await pressAt(button(page, "New user"));
      await focused(nameIn(page));
      await page.keyboard.type("Ada");
      await page.keyboard.press("Enter");
      await tabTo(inDialog(page, "Save credentials.json"));
      await pressAt(inDialog(page, "Close").last());
      await focused(button(page, "New user"));
      await pressAt(link(page, "Ada"));
      await arrivedAt(page, "Ada");
      const add = button(page, "Add an API key");
      await pressAt(add);
      await focused(nameIn(page));
      await page.keyboard.type("second");
      await page.keyboard.press("Enter");
      await dialogOf(page).getByText("The API key was added.").waitFor();
      await pressAt(inDialog(page, "Close").last());
      await focused(add);
      await pressAt(button(page, "Delete second"));
      await focused(dialogOf(page).getByRole("textbox", { name: "Type second to confirm" }));
      await page.keyboard.type("second");
      await pressAt(inDialog(page, "Delete API key"));
      await button(page, "Delete second").waitFor({ state: "detached" });
      await focused(page.getByRole("region", { name: "API keys, table" }));
      await step(page, "Tab");
      await keyTo(page, "Organization");
      await pressAt(button(page, "New tag"));
      await focused(nameIn(page));
      await page.keyboard.type("Engineers");
      await tabTo(dialogOf(page).getByRole("combobox", { name: "Users" }));
      await page.keyboard.type("Ada");
      await choose(page, "Ada");
      await page.keyboard.press("Escape");
      await pressAt(inDialog(page, "Create tag"));
      await page.getByRole("cell", { name: "Engineers", exact: true }).waitFor();
      await focused(button(page, "New tag"));
      const { users } = await root.read("list_users");
      assert.equal(users.find(({ userName }: Json) => userName === "Ada").userTags.length, 1);
    }));

  it("writes a policy in editors that Tab leaves, and simulates", () =>
    stage.tell(async ({ page, root }) => {
      await keyTo(page, "Policies");
      await pressAt(link(page, "New policy"));
      await arrivedAt(page, "New policy");
      await typeAt(page.getByRole("textbox", { name: "Name" }), "Wallets");
      const condition = page.getByRole("textbox", { name: "Condition" });
      const consensus = page.getByRole("textbox", { name: "Consensus" });
      await typeAt(condition, "activity.resorce == 'WALLET'");
      // What is wrong is told to those who point at nothing, too.
      await page.locator("[id$=-error]").filter({ hasText: "resorce" }).waitFor();
      await page.keyboard.press("Escape");
      await tabTo(consensus, "Tab", 2);
      await typeAt(condition, "activity.resource == 'WALLET'", "Shift+Tab");
      await typeAt(consensus, "approvers.count() >= 1");
      const create = button(page, "Create policy");
      await pressAt(create);
      await page.getByText("Saved.").waitFor();
      await focused(create);
      const { policies } = await root.read("list_policies");
      assert.deepEqual(
        [policies[0].condition, policies[0].consensus],
        ["activity.resource == 'WALLET'", "approvers.count() >= 1"],
      );
      await pressAt(link(page, "Try what it does"), "Shift+Tab");
      await arrivedAt(page, "Simulate");
      await typeAt(page.getByRole("combobox", { name: "Type", exact: true }), "Create wallet");
      await choose(page, "Create wallet");
      const simulate = button(page, "Simulate");
      await pressAt(simulate);
      await page.getByRole("status", { name: "Outcome" }).getByText("Allowed").waitFor();
      await focused(simulate);
    }));

  it("adds an endpoint, switches it off, and deletes it by typing its name", () =>
    stage.tell(async ({ page, root }) => {
      await keyTo(page, "Webhooks");
      await pressAt(button(page, "New endpoint"));
      await focused(nameIn(page));
      await page.keyboard.type("Ledger");
      await typeAt(dialogOf(page).getByRole("textbox", { name: "URL" }), "https://hooks.example.com/");
      await page.keyboard.press("Enter");
      await focused(button(page, "New endpoint"));
      await pressAt(button(page, "Deliveries"));
      await page.getByRole("button", { name: "Deliveries", expanded: true }).waitFor();
      await pressAt(button(page, "Disable"));
      await focused(button(page, "Enable"));
      await pressAt(button(page, "Delete"));
      await focused(dialogOf(page).getByRole("textbox"));
      await page.keyboard.type("Ledge");
      await page.keyboard.press("Enter");
      assert.ok(await inDialog(page, "Delete endpoint").isDisabled());
      await page.keyboard.type("r");
      await pressAt(inDialog(page, "Delete endpoint"));
      await page.getByRole("status").filter({ hasText: "The endpoint “Ledger” is deleted." }).waitFor();
      await page.getByText("There are no endpoints yet.").waitFor();
      await focused(page.getByRole("heading", { level: 1, name: "Webhooks" }));
      assert.deepEqual((await root.read("list_webhook_endpoints")).webhookEndpoints, []);
      await pressAt(button(page, "Dismiss"), "Shift+Tab");
      await focused(page.getByRole("heading", { level: 1, name: "Webhooks" }));
    }));

  it("sets how people sign in, and what products there are", () =>
    stage.tell(async ({ page, root }) => {
      await keyTo(page, "Sign-in");
      const proxy = page.getByRole("region", { name: "Auth proxy" });
      await pressAt(proxy.getByRole("button", { name: "Enable" }));
      await focused(dialogOf(page).locator("[data-autofocus]"));
      await pressAt(inDialog(page, "Enable"));
      await focused(proxy.getByRole("button", { name: "Disable" }));
      await typeAt(proxy.getByRole("textbox", { name: "Sender's name" }), "Keystead");
      await pressAt(proxy.getByRole("button", { name: "Save settings" }));
      await proxy.getByText("Saved.").waitFor();
      await focused(proxy.locator("form"));
      const { config } = await root.read("get_auth_proxy_config");
      assert.equal(config.sendFromEmailSenderName, "Keystead");
      const addClient = button(page, "Add a client");
      await pressAt(addClient);
      await focused(dialogOf(page).getByRole("combobox", { name: "Provider" }));
      await page.keyboard.press("Escape");
      await focused(addClient);
      await pressAt(page.getByRole("button", { name: "Skip to content" }), "Shift+Tab");
      await keyTo(page, "Products");
      for (const [name, field] of [
        ["Enable a vault", "Chain"],
        ["Add a provider", "Provider"],
      ] as const) {
        await pressAt(button(page, name));
        await focused(dialogOf(page).getByRole("combobox", { name: field }));
        await step(page, "Shift+Tab");
        await focused(inDialog(page, "Close").first());
        await step(page, "Shift+Tab");
        await focused(inDialog(page, "Cancel"));
        await page.keyboard.press("Escape");
        await focused(button(page, name));
      }
    }));

  it("chooses an operation, fills its form and sends it", () =>
    stage.tell(async ({ page, root }) => {
      await keyTo(page, "API");
      const operation = page.getByRole("combobox", { name: "Operation" });
      await typeAt(operation, "create_user_tag");
      await choose(page, "create_user_tag");
      const form = page.getByRole("region", { name: "Form" });
      await pressAt(form.getByRole("button", { name: "Clear" }));
      await typeAt(form.getByRole("textbox", { name: "userTagName" }), "Told");
      const submit = button(page, "Submit");
      await pressAt(submit);
      await page.getByRole("status").getByLabel("Answer").waitFor();
      await focused(submit);
      assert.deepEqual(
        (await root.read("list_user_tags")).userTags.map(({ tagName }: Json) => tagName),
        ["Told"],
      );
      await typeAt(operation, "list_activities", "Shift+Tab");
      await choose(page, "list_activities");
      await pressAt(form.getByRole("button", { name: "Clear" }));
      // What is added has the focus, as the button that added it is gone; and the button has it when that is taken away again.
      const add = form.getByRole("button", { name: "Add paginationOptions" });
      await pressAt(add);
      await pressAt(form.getByRole("button", { name: "Add limit" }));
      await focused(form.getByRole("textbox", { name: "limit" }));
      await pressAt(form.getByRole("button", { name: "Remove paginationOptions" }));
      await focused(add);
    }));

  it("finds by one key, goes through what was found by arrows, and gives the focus back", () =>
    stage.tell(
      async ({ page, root }) => {
        await root.result("create_wallet", wallet);
        await root.result("create_wallet", { ...wallet, walletName: "Savings again" });
        // Only now: what was listed before they were made would be shown for a moment.
        await signInWithText(page, credentialsOf(root));
        await keyTo(page, "Users");
        await tabTo(button(page, "New user"));
        await page.keyboard.press("Control+k");
        const sought = dialogOf(page).getByRole("textbox");
        const found = (name: string) => dialogOf(page).getByRole("link", { name, exact: true });
        await focused(sought);
        await page.keyboard.type("Savings");
        await found("Savings").waitFor();
        for (const [key, place] of [
          ["ArrowDown", found("Savings")],
          ["ArrowDown", found("Savings again")],
          ["ArrowUp", found("Savings")],
          ["ArrowUp", sought],
        ] as const) {
          await page.keyboard.press(key);
          await focused(place);
        }
        await page.keyboard.press("Escape");
        await focused(button(page, "New user"));
        await page.keyboard.press("Control+k");
        await focused(sought);
        await page.keyboard.type("Savings again");
        await found("Savings again").waitFor();
        await page.keyboard.press("ArrowDown");
        await page.keyboard.press("Enter");
        await arrivedAt(page, "Savings again");
      },
      { isSignedOut: true },
    ));
});
