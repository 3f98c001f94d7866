import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Browser } from "playwright-core";
import { buildHandbook, isHandbookBuilt } from "../../scripts/build-handbook.ts";
import { handbookPages } from "../../src/http/handbook.ts";
import { createListener, createRoom, type Listener } from "../../src/http/listener.ts";
import { createLogger } from "../../src/kernel/log.ts";
import { noBrowser, startBrowser } from "../support/browser.ts";
import { openStage, visit } from "../support/console.ts";
import { assertAccessible } from "../support/console-page.ts";

/** The handbook as it is built, in a browser: nothing of it may be refused by its own policy, or come from another host. */

describe("the handbook", { skip: noBrowser }, () => {
  let browser: Browser;
  let listener: Listener;
  let url: string;
  before(async () => {
    if (!isHandbookBuilt()) await buildHandbook();
    browser = await startBrowser();
    listener = createListener({
      log: createLogger("silent"),
      trustedProxies: [],
      room: createRoom({ maxConnections: 100, maxConnectionsPerAddress: 100 }, [], () => {}),
      observer: { answered: () => {}, failed: () => {}, turnedAway: () => {} },
    });
    listener.mount(handbookPages());
    const { port } = await listener.listen({ host: "127.0.0.1", port: 0 });
    url = `http://127.0.0.1:${port}/handbook/`;
  });
  after(async () => {
    await browser.close();
    await listener.close();
  });

  it("is read, searched and gone through, within its policy", async () => {
    const { page, context, faults } = await visit(browser, url);
    await page.getByRole("heading", { level: 1, name: "The handbook" }).waitFor();

    await page.getByRole("button", { name: "Search" }).click();
    await page.getByRole("searchbox").fill("KEYSTEAD_FRAME_ORIGINS");
    await page.getByRole("option").filter({ hasText: "Settings" }).first().click();
    await page.getByRole("heading", { level: 1, name: "Settings" }).waitFor();
    await page.getByRole("cell", { name: "KEYSTEAD_FRAME_ORIGINS", exact: true }).waitFor();

    await page.goto(`${url}reference/operations`);
    await page.getByRole("link", { name: "create_wallet", exact: true }).click();
    await page.getByRole("heading", { level: 2, name: "create_wallet", exact: false }).first().waitFor();
    await page.getByText('"walletName": "Wallet"').first().waitFor();

    // Two braces that stand in the text are text, before its scripts have run as well as after.
    const placeholder = "{{ .OtpCode }}";
    assert.ok((await (await fetch(`${url}guide/messages`)).text()).includes(placeholder));
    await page.goto(`${url}guide/messages`);
    await page.getByRole("cell", { name: placeholder }).waitFor();
    await page.goto(`${url}reference/errors`);
    await page.getByText("bad request body: {reason}", { exact: true }).waitFor();

    await page.goto(`${url}guide/frames`);
    const colours = await page
      .locator(".shiki .line span")
      .evaluateAll((spans) => new Set(spans.map((span) => getComputedStyle(span).color)).size);
    assert.ok(colours > 2, `code is highlighted, in ${colours} colours`);
    await assertAccessible(page, "a guide");
    assert.deepEqual(faults, []);
    await context.close();
  });

  it("is a link away from the console", async () => {
    const stage = await openStage("sqlite");
    try {
      await stage.tell(async ({ page }) => {
        await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: "Handbook" }).click();
        await page.getByRole("heading", { level: 1, name: "The handbook" }).waitFor();
      });
    } finally {
      await stage.close();
    }
  });
});
