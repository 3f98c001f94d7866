import assert from "node:assert/strict";
import { it } from "node:test";
import { addUser, type Json } from "../support/client.ts";
import { storiesOn } from "../support/console.ts";
import { assertAccessible, goTo, openedPage } from "../support/console-page.ts";

/** Policies written, tried and taken away in a real browser. */
storiesOn("sqlite", "policies in the console", (stage) => {
  const policy = {
    policyName: "Wallets by Ada",
    effect: "EFFECT_ALLOW",
    condition: "activity.resource == 'WALLET'",
    consensus: "approvers.count() >= 1",
    notes: "",
  };

  it("writes a policy, marks its errors where they are, and tries it", () =>
    stage.tell(async ({ page, root }) => {
      await addUser(root, "Ada");
      await goTo(page, "Policies");
      await page.getByRole("link", { name: "New policy" }).click();
      await page.getByRole("textbox", { name: "Name" }).fill("Wallets by Ada");
      const condition = page.getByRole("textbox", { name: "Condition" });
      await condition.click();
      await condition.pressSequentially("activity.resorce == 'WALLET'");
      await page.locator(".cm-lintRange-error").filter({ hasText: "resorce" }).waitFor();
      assert.ok(await page.getByRole("button", { name: "Create policy" }).isDisabled());
      await condition.fill("activity.resource=='WALLET'");
      await page.getByRole("textbox", { name: "Consensus" }).fill("approvers.count() >= 1");
      await page.getByRole("button", { name: "Format" }).first().click();
      await page.getByText("activity.resource == 'WALLET'", { exact: true }).waitFor();
      await page.getByRole("button", { name: "Create policy" }).click();
      await page.getByText("Saved.").waitFor();
      const { policies } = await root.read("list_policies");
      assert.deepEqual(
        policies.map(({ policyName, condition: stored, consensus }: Json) => [policyName, stored, consensus]),
        [[policy.policyName, policy.condition, policy.consensus]],
      );
      await page.getByRole("link", { name: "Try what it does" }).click();
      await openedPage(page, "Simulate");
      const parameters = page.getByRole("textbox", { name: "Parameters" });
      await page.waitForFunction(() =>
        [...document.querySelectorAll("textarea")].some(({ value }) => value.includes('"signWith"')),
      );
      await page.getByRole("combobox", { name: "Type", exact: true }).click();
      await page.getByRole("option", { name: "Create wallet", exact: true }).click();
      // The example of the documentation is of the shape that the server takes, and is simulated as it is.
      assert.match(await parameters.inputValue(), /"walletName": ".+"/);
      await page.getByRole("combobox", { name: "Approved by" }).click();
      await page.getByRole("option", { name: "Ada" }).click();
      await page.keyboard.press("Backspace");
      await page.keyboard.press("Escape");
      await page.getByRole("button", { name: "Simulate" }).click();
      const outcome = page.getByRole("status", { name: "Outcome" });
      await outcome.getByText("Allowed").waitFor();
    }));

  it("tries a policy before it is saved, on what happened, new or in the place of another", () =>
    stage.tell(async ({ page, root }) => {
      const { client } = await addUser(root, "Ada");
      const denied = await client.submit("create_wallet", { walletName: "Wanted", accounts: [] });
      assert.equal(denied.status, 403);
      await goTo(page, "Policies");
      await page.getByRole("link", { name: "New policy" }).click();
      const condition = page.getByRole("textbox", { name: "Condition" });
      const consensus = page.getByRole("textbox", { name: "Consensus" });
      const simulate = page.getByRole("button", { name: "Simulate" });
      const outcome = page.getByRole("status", { name: "Outcome" });
      await condition.fill("activity.resource == 'WALLET'");
      await consensus.fill("approvers.count() >= 2");
      await page.getByRole("combobox", { name: "Start from an earlier activity" }).click();
      await page.getByRole("option", { name: /^Create wallet, / }).click();
      await page.getByText('"Wanted"').waitFor();
      await simulate.click();
      await outcome.getByText("Waits for approvals").waitFor();
      await outcome.getByText("With the saved policies: denied.").waitFor();
      await outcome
        .getByRole("listitem")
        .filter({ hasText: /^This policy, as it is here: .*Still needed: 1 approval/ })
        .waitFor();
      await assertAccessible(page, "A policy tried before it is saved");
      await consensus.fill("approvers.count() >= 1");
      await outcome.getByText("The policy has changed since.").waitFor();
      await simulate.click();
      await outcome.getByText("Allowed", { exact: true }).waitFor();
      await condition.fill("activity.resorce == 'WALLET'");
      await page.getByText("The policy can be tried once no expression has an error.").waitFor();
      assert.ok(await simulate.isDisabled());
      assert.deepEqual((await root.read("list_policies")).policies, []);

      const { policyId } = await root.result("create_policy", policy);
      await page.goto(`${stage.url}/#/policies/${policyId}`);
      await openedPage(page, policy.policyName);
      await page.getByRole("combobox", { name: "Start from an earlier activity" }).click();
      await page.getByRole("option", { name: /^Create wallet, / }).click();
      await simulate.click();
      await outcome.getByText("With the saved policies, the outcome would be the same.").waitFor();
      await page.getByRole("combobox", { name: "Effect" }).click();
      await page.getByRole("option", { name: "Deny what matches; this is final" }).click();
      await simulate.click();
      await outcome.getByText("Denied", { exact: true }).waitFor();
      await outcome.getByText("With the saved policies: allowed.").waitFor();
      assert.equal(await outcome.getByRole("listitem").count(), 1);
      assert.equal((await root.read("get_policy", { policyId })).policy.effect, "EFFECT_ALLOW");
    }));

  it("saves what was changed here, and leaves what others changed meanwhile", () =>
    stage.tell(async ({ page, root }) => {
      const { policyId } = await root.result("create_policy", policy);
      await goTo(page, "Policies");
      await page.getByRole("link", { name: policy.policyName }).click();
      await page.getByText("Nothing has changed.").waitFor();
      await root.result("update_policy", { policyId, policyConsensus: "approvers.count() >= 3" });
      const notes = page.getByRole("textbox", { name: "Notes" });
      const save = async () => {
        await page.getByRole("button", { name: "Save policy" }).click();
        await page.getByText("Nothing has changed.").waitFor();
        return (await root.read("get_policy", { policyId })).policy;
      };
      await notes.fill("as agreed");
      const saved = await save();
      assert.deepEqual([saved.notes, saved.consensus], ["as agreed", "approvers.count() >= 3"]);
      await notes.fill("");
      assert.equal((await save()).notes, "");
      const { userId, username } = await root.read("whoami");
      await page.getByRole("textbox", { name: "Consensus" }).fill(`approvers.any(user, user.id == '${userId}')`);
      await page.getByText(`${userId} is the user “${username}”`).waitFor();
    }));

  it("warns before a change that leaves nobody but the root quorum", () =>
    stage.tell(async ({ page, root }) => {
      const { policyId } = await root.result("create_policy", policy);
      await goTo(page, "Policies");
      await page.getByRole("link", { name: policy.policyName }).click();
      await openedPage(page, policy.policyName);
      const warning = page.getByRole("status").filter({ hasText: "No remaining policy would allow anything" });
      await page.getByRole("button", { name: "Delete", exact: true }).click();
      await page.getByRole("dialog").getByText("No remaining policy would allow anything").waitFor();
      await page.keyboard.press("Escape");
      await page.getByRole("combobox", { name: "Effect" }).click();
      await page.getByRole("option", { name: "Deny what matches; this is final" }).click();
      await warning.waitFor();
      await page.getByRole("textbox", { name: "Condition" }).fill("");
      await page.getByRole("textbox", { name: "Consensus" }).fill("");
      await page.getByRole("status").filter({ hasText: "This denies everything" }).waitFor();
      await page.getByRole("combobox", { name: "Effect" }).click();
      await page.getByRole("option", { name: "Allow what matches" }).click();
      await page
        .getByRole("status")
        .filter({ hasText: "It allows every user of the organization everything" })
        .waitFor();
      await page.getByRole("combobox", { name: "Effect" }).click();
      await page.getByRole("option", { name: "Deny what matches; this is final" }).click();
      await page.getByRole("button", { name: "Save policy" }).click();
      await page.getByText("Saved.").waitFor();
      assert.equal((await root.read("get_policy", { policyId })).policy.effect, "EFFECT_DENY");
    }));

  it("asks for the name of what it deletes", () =>
    stage.tell(async ({ page, root }) => {
      await root.result("create_policy", policy);
      await goTo(page, "Policies");
      await page.getByRole("link", { name: "Wallets by Ada" }).click();
      await page.getByRole("button", { name: "Delete" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByRole("textbox").fill("Wallets by Eve");
      assert.ok(await dialog.getByRole("button", { name: "Delete policy" }).isDisabled());
      await dialog.getByRole("textbox").fill("Wallets by Ada");
      await dialog.getByRole("button", { name: "Delete policy" }).click();
      await dialog.waitFor({ state: "hidden" });
      await openedPage(page, "Policies");
      assert.deepEqual((await root.read("list_policies")).policies, []);
      const told = page.getByRole("status").filter({ hasText: "The policy “Wallets by Ada” is deleted." });
      await told.getByText("It can be created again, under another ID.").waitFor();
      await goTo(page, "Users");
      await told.waitFor({ state: "hidden" });
    }));
});
