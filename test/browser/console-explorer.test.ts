import assert from "node:assert/strict";
import { it } from "node:test";
import type { Locator } from "playwright-core";
import { generateApiKey, type Json } from "../support/client.ts";
import { storiesOn } from "../support/console.ts";
import { assertAccessible, goTo } from "../support/console-page.ts";

/** Requests of the API by the forms of its operations, in a real browser. */

const ETHEREUM_PATH = "m/44'/60'/0'/0/0";

/** The text that describes a field to those who do not see where it stands. */
const described = (field: Locator): Promise<string> =>
  field.evaluate((element) =>
    (element.getAttribute("aria-describedby") ?? "")
      .split(" ")
      .map((id) => document.getElementById(id)?.textContent ?? "")
      .join(" "),
  );

storiesOn("sqlite", "the explorer of the console", (stage) => {
  it("makes a wallet by the form of its operation, which says by field what is wrong and keeps in step with the JSON", () =>
    stage.tell(async ({ page, root }) => {
      await goTo(page, "API");
      await page.getByRole("combobox", { name: "Operation" }).fill("create_wallet");
      await page.getByRole("option", { name: "create_wallet", exact: true }).click();
      const form = page.getByRole("region", { name: "Form" });
      await form.getByRole("button", { name: "Clear" }).click();
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
      await form.getByText("The JSON is not an object.").waitFor();
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
        const field = page.getByRole("combobox", { name: "Operation" });
        await field.click();
        await field.fill(operation);
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
      await refusedAt(form.getByRole("group", { name: "accounts 2" }), "This occurs twice");
      await form.getByRole("button", { name: "Remove accounts 1" }).click();
      await form.getByText("occurs twice").waitFor({ state: "hidden" });

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
      await page.getByRole("button", { name: "Send" }).click();
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
      const curl = page.getByLabel("curl", { exact: true });
      await curl.getByText("x-stamp: $STAMP").waitFor();
      await page.getByRole("button", { name: "Stamp it" }).click();
      await page.getByText("It is stamped: anybody who has this text can send it").waitFor();
      // As a shell would read it.
      const [url = "", ...options] = [...(await curl.innerText()).matchAll(/'((?:[^']|'\\'')*)'/g)].map(
        ([, text = ""]) => text.replaceAll("'\\''", "'"),
      );
      const [contentType = "", stamp = "", body = ""] = options;
      const headers = Object.fromEntries([contentType, stamp].map((header) => header.split(": ")));
      const answered = await fetch(url, { method: "POST", headers, body });
      const { activity } = (await answered.json()) as Json;
      assert.equal(activity.status, "ACTIVITY_STATUS_COMPLETED");
      await page.getByLabel("TypeScript", { exact: true }).getByText("client.request").waitFor();
      await page.getByRole("textbox", { name: "Parameters" }).fill(`{"userTagName": "it's typed too", "userIds": []}`);
      await page.getByRole("button", { name: "Submit" }).click();
      await page.getByLabel("Answer").getByText("ACTIVITY_STATUS_COMPLETED").waitFor();
      const { userTags } = await root.read("list_user_tags");
      assert.deepEqual(userTags.map(({ tagName }: Json) => tagName).sort(), ["it's typed", "it's typed too"]);
    }));
});
