import assert from "node:assert/strict";
import { it } from "node:test";
import { HOSTILE, HOSTILE_SHOWN, type Story, storiesOn } from "../support/console.ts";
import { assertAccessible, goTo, openedPage } from "../support/console-page.ts";
import { credentialParams } from "../support/oauth2-provider.ts";
import { coinbaseParams } from "../support/on-ramp-provider.ts";

/** The pages of the console as they are seen, by everybody and on a phone, in a real browser. */
const ETHEREUM_ACCOUNT = {
  curve: "CURVE_SECP256K1",
  pathFormat: "PATH_FORMAT_BIP32",
  path: "m/44'/60'/0'/0/0",
  addressFormat: "ADDRESS_FORMAT_ETHEREUM",
};

storiesOn("sqlite", "the looks of the console", (stage) => {
  /** Goes to each page and to one of each kind that they lead to, by the menu; `look` holds what is shown against what it promises. */
  const throughPages = async (
    { page, root }: Story,
    { goBy, look }: { goBy: (label: string) => Promise<void>; look: (what: string) => Promise<void> },
  ) => {
    await root.result("create_wallet", { walletName: HOSTILE, accounts: [ETHEREUM_ACCOUNT] });
    const { baseUrl } = stage.server;
    await root.result("create_oauth2_credential", await credentialParams(baseUrl, { clientId: "c".repeat(60) }));
    await root.result("create_fiat_on_ramp_credential", await coinbaseParams(baseUrl));
    const shown = async (what: string) => {
      await page.getByLabel("Loading").first().waitFor({ state: "hidden" });
      await look(what);
    };
    const links = page.getByRole("navigation", { name: "Pages", includeHidden: true }).locator("a");
    const labels = await links.evaluateAll((all) => all.map(({ textContent }) => textContent ?? ""));
    for (const label of labels.filter((each) => each !== "Handbook")) {
      await goBy(label);
      await shown(label);
    }
    const further = [
      { from: "Wallets", link: HOSTILE_SHOWN, title: HOSTILE_SHOWN },
      { from: "Users", link: "Root user", title: "Root user" },
      { from: "Activities", link: "Create wallet", title: "Create wallet" },
      { from: "Policies", link: "New policy", title: "New policy" },
      { from: "Policies", link: "Simulate", title: "Simulate" },
    ];
    for (const { from, link, title } of further) {
      await goBy(from);
      await page.getByRole("main").getByRole("link", { name: link }).first().click();
      await openedPage(page, title);
      await shown(`one of ${from}`);
    }
  };

  // Of the dark one, what its colours can break.
  const schemes = { light: undefined, dark: ["color-contrast"] };
  for (const [scheme, rules] of Object.entries(schemes) as ["light" | "dark", string[] | undefined][]) {
    it(`can be read by everybody (${scheme})`, () =>
      stage.tell(async (story) => {
        const { page } = story;
        await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
        await throughPages(story, {
          goBy: (label) => goTo(page, label),
          look: (what) => assertAccessible(page, `${what}, ${scheme}`, rules),
        });
      }));
  }

  it("is used on a phone", () =>
    stage.tell(async (story) => {
      const { page } = story;
      await page.setViewportSize({ width: 360, height: 740 });
      const menu = page.getByRole("button", { name: "Pages" });
      const link = page.getByRole("navigation", { name: "Pages" }).getByRole("link").first();
      await link.waitFor({ state: "hidden" });
      await menu.click();
      await link.waitFor();
      await assertAccessible(page, "the menu on a phone");
      await menu.click();
      await throughPages(story, {
        async goBy(label) {
          await menu.click();
          await goTo(page, label);
          // Whichever page it leads to, the one that is shown already among them.
          await link.waitFor({ state: "hidden" });
        },
        async look(what) {
          const beside = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
          assert.ok(beside <= 0, `${what} is wider than the screen by ${beside} px`);
          // Nothing of a row lies where nobody sees it, and no word is broken for want of room.
          const tables = page.getByRole("region", { name: /, table$/ });
          for (const table of await tables.all()) {
            const hidden = await table.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth);
            assert.ok(hidden <= 0, `of a table, ${hidden} px are out of view: ${what}`);
            assert.notEqual(await table.getByRole("row").count(), 0, `a table is one to those who hear it: ${what}`);
          }
          for (const copy of await page.getByRole("button", { name: /^Copy / }).all()) {
            const lines = await copy.evaluate((button) => button.getClientRects()[0]?.height ?? 0);
            assert.ok(lines < 24, `"Copy" is on one line: ${what}`);
          }
          await assertAccessible(page, `${what} on a phone`);
        },
      });
    }));
});
