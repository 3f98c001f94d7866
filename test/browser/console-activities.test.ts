import assert from "node:assert/strict";
import { it } from "node:test";
import { addUser, type Json } from "../support/client.ts";
import { activityThatWaits, storiesOn } from "../support/console.ts";
import { credentialsOf, goTo, openedPage, scrollThrough, signInWithText } from "../support/console-page.ts";
import { heavyCondition } from "../support/heavy-policies.ts";

/** What happened and what waits, seen and decided on in a real browser. */
storiesOn("postgres", "activities in the console", (stage) => {
  it("shows what was signed in words", () =>
    stage.tell(async ({ page, root }) => {
      const key = { privateKeyName: "key", curve: "CURVE_SECP256K1", privateKeyTags: [], addressFormats: [] };
      const { privateKeys } = await root.result("create_private_keys", { privateKeys: [key] });
      await root.result("sign_raw_payload", {
        signWith: privateKeys[0].privateKeyId,
        payload: Buffer.from("hello, world ✓").toString("hex"),
        encoding: "PAYLOAD_ENCODING_HEXADECIMAL",
        hashFunction: "HASH_FUNCTION_SHA256",
      });
      await goTo(page, "Activities");
      await page.getByRole("link", { name: "Sign raw payload" }).click();
      await openedPage(page, "Sign raw payload");
      await page.getByText("hello, world ✓").waitFor();
      await page.getByRole("cell", { name: /^API key / }).waitFor();
      await page.getByText("Completed").waitFor();
    }));

  it("shows what nobody would see in what is asked for, and all of an address", () =>
    stage.tell(async ({ page, root }) => {
      const asked = page.getByRole("region", { name: "What it does" });
      const open = async (path: string, parameters: Json): Promise<void> => {
        const { body } = await root.submit(path, parameters);
        await page.goto(`${stage.url}/#/activities/${body.activity.id}`);
        await asked.waitFor();
      };
      const key = { privateKeyName: "key", curve: "CURVE_SECP256K1", privateKeyTags: [], addressFormats: [] };
      const { privateKeys } = await root.result("create_private_keys", { privateKeys: [key] });
      const signing = { signWith: privateKeys[0].privateKeyId, encoding: "PAYLOAD_ENCODING_TEXT_UTF8" };
      // Read from the right, it is 100.
      const payload = "Pay \u202e001\u202c USD\u200b to Ada";
      const shown = "Pay [U+202E]001[U+202C] USD[U+200B] to Ada";
      await open("sign_raw_payload", { ...signing, payload, hashFunction: "HASH_FUNCTION_KECCAK256" });
      await asked.getByLabel("Text to be signed").getByText(shown, { exact: true }).waitFor();
      assert.equal(await asked.getByText(shown, { exact: true }).count(), 2, "in words, and among the facts");
      await open("sign_raw_payload", {
        ...signing,
        payload: Buffer.from(payload).toString("hex"),
        encoding: "PAYLOAD_ENCODING_HEXADECIMAL",
        hashFunction: "HASH_FUNCTION_SHA256",
      });
      await asked.getByText(shown, { exact: true }).waitFor();
      await open("sign_raw_payload", { ...signing, payload: "a".repeat(32), hashFunction: "HASH_FUNCTION_NO_OP" });
      await asked
        .getByRole("list", { name: "In words" })
        .getByText(/^Signs a hash\./)
        .waitFor();
      assert.equal(await asked.getByLabel("Text to be signed").count(), 0, "a hash is no text");
      const url = `https://good.example.evil.example/${"a".repeat(60)}/hooks.good.example`;
      await open("create_webhook_endpoint", { name: "Endpoint", url, subscriptions: [] });
      await asked.getByText(url, { exact: true }).waitFor();
      const image = `registry.evil.example:5000/${"a".repeat(60)}/good.example`;
      const policy = { policyName: "Policy", effect: "EFFECT_ALLOW", condition: "false", consensus: "true" };
      await open("create_policy", { ...policy, notes: image });
      await asked.getByText(image, { exact: true }).waitFor();
    }));

  it("names kinds of activities in words, and finds them by the API's constants too", () =>
    stage.tell(async ({ page, root }) => {
      await root.result("create_user_tag", { userTagName: "told", userIds: [] });
      await goTo(page, "Activities");
      const link = page.getByRole("link", { name: "Create user tag" });
      await link.waitFor();
      assert.equal(await link.locator("span").getAttribute("title"), "ACTIVITY_TYPE_CREATE_USER_TAG");
      assert.ok(!(await page.getByRole("main").innerText()).includes("ACTIVITY_TYPE"));
      const filter = page.getByRole("combobox", { name: "Type" });
      for (const text of ["create user t", "CREATE_USER_TAG", "activity_type_create_user_tag"]) {
        await filter.fill(text);
        await page.getByRole("option", { name: "Create user tag", exact: true }).waitFor();
        assert.equal(await page.getByRole("option").count(), 1, text);
      }
      await page.getByRole("option").click();
      await link.click();
      await page.getByText("ACTIVITY_TYPE_CREATE_USER_TAG").waitFor();
    }));

  it("says why no policy was asked", () =>
    stage.tell(async ({ page, root }) => {
      const ada = await addUser(root, "Ada");
      const why = async (id: string, words: string): Promise<void> => {
        await page.goto(`${stage.url}/#/activities/${id}`);
        await page.getByRole("region", { name: "Policies" }).getByText(words).waitFor();
      };
      const asRoot = await root.submit("create_user_tag", { userTagName: "told", userIds: [] });
      await why(asRoot.body.activity.id, "No policy was asked, because the root quorum approved it");
      const own = { userId: ada.userId, userName: "Adele" };
      await ada.client.submit("update_user_name", own);
      const newest = async () => (await root.read("list_activities")).activities[0].id;
      const alone = await newest();
      await why(alone, "No policy was asked, because the organization has none.");
      await ada.client.submit("update_root_quorum", { threshold: 1, userIds: [ada.userId] });
      const ofQuorum = await newest();
      await root.result("create_policy", {
        policyName: "Tags",
        effect: "EFFECT_ALLOW",
        condition: "activity.resource == 'USER_TAG'",
        notes: "",
      });
      await page.reload();
      await signInWithText(page, credentialsOf(root));
      await why(ofQuorum, "No policy was asked, because policies do not apply to this kind of activity");
      await page.getByRole("region", { name: "What it does" }).getByText("user “Ada”").waitFor();
      await why(alone, "No policy was asked: when it was voted on, the organization had none");
    }));

  it("approves what waits, by the very bytes that it showed", () =>
    stage.tell(async ({ page, root }) => {
      const activityId = await activityThatWaits(root);
      await goTo(page, "Activities");
      await goTo(page, "Overview");
      await page.getByRole("region", { name: "Waiting for you" }).getByRole("link", { name: "Create wallet" }).click();
      await page.getByText("Your approval counts").waitFor();
      await page.getByText(/Still needed: 1 approval/).waitFor();
      await page.getByRole("button", { name: "Approve" }).click();
      const shown = await page.getByLabel("What is stamped").innerText();
      await page.getByRole("dialog").getByRole("button", { name: "Approve" }).click();
      await page.getByText("Completed").waitFor();
      const { activity } = await root.read("get_activity", { activityId });
      assert.equal(activity.status, "ACTIVITY_STATUS_COMPLETED");
      assert.deepEqual(
        activity.votes.map(({ message }: Json) => message).filter((message: string) => message === shown),
        [shown],
      );
    }));

  it("rejects what waits, by the very bytes that it showed, and nothing comes of it", () =>
    stage.tell(async ({ page, root }) => {
      const activityId = await activityThatWaits(root);
      await goTo(page, "Activities");
      await page.getByRole("link", { name: "Create wallet" }).click();
      await page.getByText("Your approval counts").waitFor();
      await page.getByRole("button", { name: "Reject" }).click();
      const dialog = page.getByRole("dialog");
      const shown = await dialog.getByLabel("What is stamped").innerText();
      assert.equal(JSON.parse(shown).type, "ACTIVITY_TYPE_REJECT_ACTIVITY");
      await dialog.getByRole("button", { name: "Reject" }).click();
      await page.getByRole("cell", { name: "Rejected", exact: true }).waitFor();
      await page.getByRole("button", { name: "Reject" }).waitFor({ state: "hidden" });
      const { activity } = await root.read("get_activity", { activityId });
      assert.equal(activity.status, "ACTIVITY_STATUS_REJECTED");
      assert.deepEqual(
        activity.votes.map(({ selection, message }: Json) => [selection, message === shown]),
        [
          ["VOTE_SELECTION_APPROVED", false],
          ["VOTE_SELECTION_REJECTED", true],
        ],
      );
      assert.deepEqual((await root.read("list_wallets", {})).wallets, []);
    }));

  it("explains a denial by each policy", () =>
    stage.tell(async ({ page, root }) => {
      await activityThatWaits(root);
      const { client, userId } = await addUser(root, "Nobody");
      const denied = await client.submit("create_user_tag", { userTagName: "Not theirs", userIds: [] });
      assert.equal(denied.status, 403);
      await goTo(page, "Activities");
      await page
        .getByRole("row", { name: /Create user tag Rejected Nobody/ })
        .getByRole("link")
        .click();
      await page.getByText("Why it was not done").waitFor();
      await page.getByText(/You don't have sufficient permissions/).waitFor();
      const why = page.getByRole("region", { name: "Why it was not done" });
      await why.getByRole("link", { name: "Two make wallets" }).waitFor();
      await why.getByText(/The condition does not hold/).waitFor();
      await page.getByRole("cell", { name: /^API key / }).waitFor();
      await root.result("delete_users", { userIds: [userId] });
      await page.getByRole("cell", { name: /^A session that has ended, or a deleted key/ }).waitFor();
    }));

  it("counts as untold what the server cannot tell of many that wait", () =>
    stage.tell(async ({ page, root, world }) => {
      const key = { privateKeyName: "key", curve: "CURVE_SECP256K1", privateKeyTags: [], addressFormats: [] };
      const { privateKeys } = await root.result("create_private_keys", { privateKeys: [key] });
      await root.result("create_policies", {
        policies: Array.from({ length: 4 }, (_, index) => ({
          policyName: `heavy ${index}`,
          effect: "EFFECT_ALLOW",
          condition: heavyCondition,
          consensus: `approvers.any(u, u.id == '${world.user.userId}') && approvers.count() >= 2 && ${index} >= 0`,
          notes: "",
        })),
      });
      const other = await addUser(root, "Other");
      for (let index = 0; index < 40; index++) {
        const { status } = await world.user.client.submit("sign_raw_payload", {
          signWith: privateKeys[0].privateKeyId,
          payload: "00",
          encoding: "PAYLOAD_ENCODING_HEXADECIMAL",
          hashFunction: "HASH_FUNCTION_SHA256",
        });
        assert.equal(status, 200);
      }
      await page.getByRole("button", { name: "Sign out" }).click();
      await signInWithText(page, credentialsOf(other.client));
      await page.getByText(/[0-9]+ more are waiting. Your policies are too complex/).waitFor();
      const pages = page.getByRole("navigation", { name: "Pages" });
      await pages.getByText(/[0-9]+ or more wait for you/).waitFor();
    }));

  it("filters by status, type, time and user, and keeps the filter in its address", () =>
    stage.tell(async ({ page, root, world }) => {
      await world.user.client.submit("create_user_tag", { userTagName: "denied", userIds: [] });
      await root.result("create_user_tag", { userTagName: "done", userIds: [] });
      await goTo(page, "Activities");
      const rows = page.getByRole("table").getByRole("link");
      await page.getByRole("cell", { name: "Completed" }).first().waitFor();
      await page.getByRole("combobox", { name: "Status" }).press("ArrowDown");
      await page.getByRole("option", { name: "Rejected" }).click();
      await page.keyboard.press("Escape");
      await page.getByRole("cell", { name: "Completed" }).first().waitFor({ state: "hidden" });
      await rows.first().waitFor();
      assert.deepEqual(await rows.allInnerTexts(), ["Create user tag"]);
      assert.match(page.url(), /statuses/);
      const by = page.getByRole("combobox", { name: "By" });
      const { user } = await root.read("get_user", { userId: world.user.userId });
      await by.fill("Root");
      await page.getByRole("option", { name: "Root user" }).click();
      await page.getByText("No activity is of this kind.").waitFor();
      assert.match(page.url(), /userId/);
      await by.fill(user.userName);
      await page.getByRole("option", { name: user.userName, exact: true }).click();
      await rows.first().waitFor();
      assert.deepEqual(await rows.allInnerTexts(), ["Create user tag"]);
      await page.getByLabel("From").fill("2100-01-01T00:00");
      await page.getByText("No activity is of this kind.").waitFor();
      await page.getByLabel("From").fill("2020-01-01T00:00");
      await rows.first().waitFor();
      await page.getByLabel("To", { exact: true }).fill("2020-01-02T00:00");
      await page.getByText("No activity is of this kind.").waitFor();
    }));

  it("shows what is new by itself, without reading older pages again", () =>
    stage.tell(
      async ({ page, root }) => {
        const tag = (index: number) => root.result("create_user_tag", { userTagName: `tag ${index}`, userIds: [] });
        for (let index = 0; index < 30; index++) await tag(index);
        // Only now: a page that was open meanwhile would know more than the newest page of the list.
        await signInWithText(page, credentialsOf(root));
        await goTo(page, "Activities");
        await page.getByRole("region", { name: "Activities, table" }).waitFor();
        const all = await scrollThrough(page);
        assert.ok(all > 30, `${all}`);
        const asked: string[] = [];
        page.on("request", (request) => {
          if (request.url().endsWith("/list_activities")) asked.push(request.postData() ?? "");
        });
        await root.result("create_private_key_tag", { privateKeyTagName: "new", privateKeyIds: [] });
        await page.locator(`main table[aria-rowcount="${all + 2}"]`).waitFor();
        await page.evaluate(() => scrollTo(0, 0));
        await page.getByRole("link", { name: "Create private key tag" }).waitFor();
        assert.deepEqual(
          asked.filter((body) => JSON.parse(body).paginationOptions.before !== undefined),
          [],
        );
      },
      { isSignedOut: true },
    ));

  it("draws of a long list what is in view, and goes back to where somebody was in it", () =>
    stage.tell(
      async ({ page, root }) => {
        const name = (index: number) => root.result("update_organization_name", { organizationName: `Name ${index}` });
        for (let index = 0; index < 120; index++) await name(index);
        await signInWithText(page, credentialsOf(root));
        await goTo(page, "Activities");
        await page.getByRole("region", { name: "Activities, table" }).waitFor();
        const all = await scrollThrough(page);
        assert.ok(all > 120, `${all}`);
        await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
        await page.locator(`main [aria-rowindex="${all + 1}"]`).waitFor();
        const drawn = await page.locator("main [aria-rowindex]").count();
        assert.ok(drawn < all / 2, `${drawn} of ${all}`);
        // The keyboard stays in a row that is out of view, and goes on from there.
        const rowOfFocus = () =>
          page.evaluate(() => document.activeElement?.closest("[aria-rowindex]")?.getAttribute("aria-rowindex"));
        await page
          .locator(`main [aria-rowindex="${all + 1}"]`)
          .getByRole("link")
          .focus();
        await page.evaluate(() => scrollTo(0, 0));
        await page.locator(`main [aria-rowindex="2"]`).waitFor();
        assert.equal(await rowOfFocus(), String(all + 1));
        await page.keyboard.press("Shift+Tab");
        assert.equal(await rowOfFocus(), String(all));
        await page.keyboard.press("Shift+Tab");
        assert.equal(await rowOfFocus(), String(all - 1));
        await page.getByText("Your browser's own search finds only the rows that are in view.").waitFor();
        await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight / 2));
        const middle = page.locator(`main [aria-rowindex="${Math.round(all / 2)}"]`);
        await middle.getByRole("link").click();
        await openedPage(page, "Update organization name");
        assert.equal(await page.evaluate(() => scrollY), 0);
        await page.goBack();
        await openedPage(page, "Activities");
        await middle.waitFor();
        assert.ok((await page.evaluate(() => scrollY)) > 1000);
      },
      { isSignedOut: true },
    ));
});
