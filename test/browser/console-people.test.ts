import assert from "node:assert/strict";
import { it } from "node:test";
import { newId } from "../../src/kernel/ids.ts";
import { addUser, type Client, type Json } from "../support/client.ts";
import { HOSTILE, HOSTILE_SHOWN, storiesOn } from "../support/console.ts";
import {
  assertAccessible,
  focused,
  goTo,
  openedPage,
  savedBy,
  scrollThrough,
  scrollToNextPage,
} from "../support/console-page.ts";
import { addSubOrganization } from "../support/world.ts";

/** Users and who they are to the organization, in a real browser. */
storiesOn("postgres", "people in the console", (stage) => {
  /** Sub-organizations that are in lists alone: nobody is in them. */
  const fill = ({ organizationId }: Client, count: number): Promise<unknown> => {
    const now = Date.now();
    const rows = Array.from({ length: count }, (_, index) => ({
      id: newId(),
      parent_id: organizationId,
      name: `Filler ${index}`,
      sealed_key: Buffer.alloc(0),
      quorum_threshold: 1,
      created_at: now,
      updated_at: now,
    }));
    return stage.server.opened.database.transact(organizationId, (tx) =>
      tx.insertInto("organizations").values(rows).execute(),
    );
  };

  it("makes a user whose key never leaves the browser but into a file", () =>
    stage.tell(async ({ page, root }) => {
      await goTo(page, "Users");
      const dialog = page.getByRole("dialog");
      const open = page.getByRole("button", { name: "New user" });
      await open.click();
      await focused(dialog.getByRole("textbox", { name: "Name" }));
      await page.keyboard.press("Escape");
      await dialog.waitFor({ state: "detached" });
      // The keyboard goes on from where it was before the dialog.
      await focused(open);
      await page.keyboard.press("Enter");
      await page.getByRole("textbox", { name: "Name" }).fill("Ada");
      await page.getByRole("button", { name: "Create user" }).click();
      await dialog.getByText("Ada is a user now.").waitFor();
      await focused(dialog.locator("[tabindex='-1']:has(button)").filter({ hasText: "Ada is a user now." }));
      // The key is lost with the dialog.
      await page.keyboard.press("Escape");
      const save = page.getByRole("button", { name: "Save credentials.json" });
      const credentials = JSON.parse(await savedBy(page, () => save.click()));
      const ada = root.with({ key: credentials.apiKey });
      assert.equal((await ada.read("whoami")).username, "Ada");
    }));

  it("says everywhere what the organization is called since somebody renamed it", () =>
    stage.tell(async ({ page, root }) => {
      const header = page.getByRole("banner");
      await header.getByText("World", { exact: true }).waitFor();
      await goTo(page, "Organization");
      await page.getByRole("button", { name: "Rename" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByRole("textbox", { name: "Name" }).fill(HOSTILE);
      await dialog.getByRole("button", { name: "Rename" }).click();
      await header.getByText(HOSTILE_SHOWN, { exact: true }).waitFor();
      await root.result("enable_auth_proxy", {});
      await goTo(page, "Sign-in");
      await page.getByRole("button", { name: "Disable" }).click();
      // It is shown as it can be typed, and taken like that.
      const act = dialog.getByRole("button", { name: "Disable" });
      assert.equal(await act.isEnabled(), false);
      await dialog.getByRole("textbox", { name: `Type ${HOSTILE_SHOWN} to confirm` }).fill(HOSTILE_SHOWN);
      assert.equal(await act.isEnabled(), true);
      assert.equal(await page.locator("img, a[href*=evil]").count(), 0);
    }));

  it("gives users tags, and changes who has them", () =>
    stage.tell(async ({ page, root }) => {
      const { userId } = await addUser(root, "Ada");
      const tagsOfAda = async () => (await root.read("get_user", { userId })).user.userTags;
      await goTo(page, "Organization");
      await page.getByRole("button", { name: "New tag" }).click();
      await page.getByRole("textbox", { name: "Name" }).fill(HOSTILE);
      await page.getByRole("combobox", { name: "Users" }).fill("Ada");
      await page.getByRole("option", { name: "Ada" }).click();
      await page.keyboard.press("Escape");
      await page.getByRole("button", { name: "Create tag" }).click();
      await page.getByRole("cell", { name: HOSTILE_SHOWN, exact: true }).waitFor();
      assert.equal((await tagsOfAda()).length, 1);
      await assertAccessible(page, "Organization");
      await page.getByRole("button", { name: `Change ${HOSTILE_SHOWN}` }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByRole("textbox", { name: "Name" }).fill("Engineers");
      await dialog.getByRole("combobox", { name: "Users" }).click();
      await page.getByRole("option", { name: "Ada" }).click();
      await page.keyboard.press("Escape");
      await dialog.getByRole("button", { name: "Save tag" }).click();
      await page.getByRole("cell", { name: "Engineers", exact: true }).waitFor();
      assert.deepEqual(await tagsOfAda(), []);
      await page.getByRole("button", { name: "Delete Engineers" }).click();
      await dialog.getByRole("textbox").fill("Engineers");
      await dialog.getByRole("button", { name: "Delete tag" }).click();
      await page.getByText("There are no tags yet.").waitFor();
    }));

  it("changes the root quorum, and says who decides", () =>
    stage.tell(async ({ page, root }) => {
      const { userId } = await addUser(root, "Ada");
      await goTo(page, "Organization");
      const quorum = page.getByRole("region", { name: "Root quorum" });
      await quorum.getByText("One user can do anything").waitFor();
      await quorum.getByRole("button", { name: "Change" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByRole("combobox", { name: "Members" }).fill("Ada");
      await page.getByRole("option", { name: "Ada" }).click();
      await page.keyboard.press("Escape");
      await dialog.getByRole("textbox", { name: "Required approvals" }).fill("2");
      await dialog.getByRole("button", { name: "Change the root quorum" }).click();
      await quorum.getByText("Any 2 of these users together can do anything").waitFor();
      const { organizationData } = await root.read("get_organization");
      assert.ok(organizationData.rootQuorum.userIds.includes(userId));
    }));

  it("invites somebody, and takes it back", () =>
    stage.tell(async ({ page, root }) => {
      await goTo(page, "Organization");
      await page.getByRole("button", { name: "Invite somebody" }).click();
      const dialog = page.getByRole("dialog");
      await dialog.getByRole("textbox", { name: "Name" }).fill("Grace");
      await dialog.getByRole("textbox", { name: "E-mail" }).fill("grace@example.com");
      await dialog.getByRole("button", { name: "Send the invitation" }).click();
      await page.getByRole("row", { name: /Grace grace@example.com created/ }).waitFor();
      await page.getByRole("button", { name: "Revoke the invitation of Grace" }).click();
      await dialog.getByRole("textbox").fill("Grace");
      await dialog.getByRole("button", { name: "Delete invitation" }).click();
      await page.getByRole("button", { name: "Revoke the invitation of Grace" }).waitFor({ state: "hidden" });
      const { invitations } = await root.read("list_invitations");
      assert.deepEqual(
        invitations.filter(({ status }: Json) => status === "INVITATION_STATUS_CREATED"),
        [],
      );
    }));

  it("finds sub-organizations by what is in them, a page at a time, and reads in one", () =>
    stage.tell(async ({ page, root }) => {
      await fill(root, 100);
      const made: string[] = [];
      for (let index = 0; index < 10; index++) {
        const { client } = await addSubOrganization(root, { subOrganizationName: `Shop ${index}` });
        made.push(client.organizationId);
      }
      await goTo(page, "Sub-organizations");
      const links = page.getByRole("table").getByRole("link");
      await page.getByRole("region", { name: "Sub-organizations, table" }).waitFor();
      await links.getByText("Shop 0", { exact: true }).waitFor();
      await page.getByTitle(made[0] as string).waitFor();
      assert.equal(await scrollThrough(page), 110);
      await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
      await links.getByText("Filler 0", { exact: true }).waitFor();
      await page.getByRole("textbox", { name: "Exactly this" }).fill("Shop 7");
      await page.getByRole("button", { name: "Search", exact: true }).last().click();
      await links.nth(1).waitFor({ state: "hidden" });
      await links.first().waitFor();
      assert.deepEqual(await links.allInnerTexts(), ["Shop 7"]);
      await page.getByTitle(made[7] as string).waitFor();
      await links.first().click();
      await openedPage(page, "Shop 7");
      await page.getByRole("region", { name: "Users" }).getByRole("cell", { name: "Root user" }).waitFor();
      await page.getByText("There are no wallets.").waitFor();
      await assertAccessible(page, "Sub-organization");
    }));

  it("goes on with a list that is as high as a browser can draw, without what is above", () =>
    stage.tell(async ({ page, root }) => {
      await fill(root, 250);
      // As high as many rows: two pages of a hundred are more than the list may be high, and one is not.
      await page.evaluate(() => document.styleSheets[0]?.insertRule("main tr[data-index] { height: 50000px; }"));
      await goTo(page, "Sub-organizations");
      await page.getByRole("region", { name: "Sub-organizations, table" }).waitFor();
      const goOn = page.getByRole("button", { name: "Continue from here" });
      await scrollToNextPage(page);
      await goOn.waitFor();
      await page.getByText("200 are listed, and there are more.").waitFor();
      await assertAccessible(page, "A list that is full");
      await goOn.click();
      await page.getByText("What is shown above is left out.").waitFor();
      await page.getByRole("link", { name: "Filler 149", exact: true }).waitFor();
      assert.equal(await scrollThrough(page), 150);
      await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
      await page.getByRole("link", { name: "Filler 0", exact: true }).waitFor();
      await page.evaluate(() => scrollTo(0, 0));
      await page.getByRole("button", { name: "Start again" }).click();
      await page.getByRole("link", { name: "Filler 249", exact: true }).waitFor();
    }));
});
