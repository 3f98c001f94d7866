import assert from "node:assert/strict";
import axe from "axe-core";
import type { Locator, Page } from "playwright-core";
import type { Client } from "./client.ts";

/** What people do on the console's pages, and what they see there. */

/** What is pasted to sign in. */
export const credentialsOf = ({ organizationId, key }: Client): object => ({ organizationId, apiKey: key });

/** A field by its label, which has the mark of those that must be filled in; of secrets too, which have no role. */
export const requiredField = (within: Locator, label: string): Locator =>
  within.getByLabel(`${label} *`, { exact: true });

/** Waits until the keyboard's focus is there. */
export async function focused(place: Locator): Promise<void> {
  const element = await place.elementHandle();
  await place.page().waitForFunction((each) => each === document.activeElement, element);
}

/** The text of what a click has the browser save. */
export async function savedBy(page: Page, click: () => Promise<void>): Promise<string> {
  const download = page.waitForEvent("download");
  await click();
  const chunks: Buffer[] = [];
  for await (const chunk of await (await download).createReadStream()) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

export async function signInWithText(page: Page, credentials: object): Promise<void> {
  await page.getByRole("textbox", { name: "Credentials" }).fill(JSON.stringify(credentials));
  await page.getByRole("button", { name: "Sign in with an API key" }).click();
  await signedIn(page);
}

/** Whichever page is shown then. */
export const signedIn = (page: Page): Promise<void> => page.getByRole("button", { name: "Sign out" }).waitFor();

/** Waits for the page with this heading. */
export const openedPage = (page: Page, title: string): Promise<void> =>
  page.getByRole("heading", { level: 1, name: title }).waitFor();

export async function goTo(page: Page, label: string): Promise<void> {
  await page
    .getByRole("navigation", { name: "Pages" })
    .getByRole("link", { name: new RegExp(`^${label}`) })
    .click();
  await openedPage(page, label);
}

interface AxeResults {
  violations: { id: string; help: string; nodes: { html: string; failureSummary?: string }[] }[];
}

const WCAG = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

/** Holds the page as it is against WCAG 2.2 AA, as far as a program can tell; or against some rules of it. */
export async function assertAccessible(page: Page, what: string, rules: readonly string[] = WCAG): Promise<void> {
  // By the debugger, so that the page's own policy stays as it is.
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate((runOnly) => {
    const { axe: ours } = globalThis as unknown as { axe: { run(options: object): Promise<AxeResults> } };
    return ours.run({ runOnly });
  }, rules);
  const told = violations.map(
    ({ id, help, nodes }) =>
      `${id}: ${help}: ${nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`).join("; ")}`,
  );
  assert.deepEqual(told, [], what);
}

const rowCount = (page: Page): Promise<number> =>
  page.locator("main table").evaluate((table) => Number(table.getAttribute("aria-rowcount")));

/** Whether the server has more of the one list of the page. */
export const hasMoreRows = async (page: Page): Promise<boolean> => (await rowCount(page)) === -1;

/** Scrolls to the end of what is listed. Resolves once there is more below, or the server has no more. */
export async function scrollToNextPage(page: Page): Promise<void> {
  const height = await page.evaluate(() => {
    const { scrollHeight } = document.documentElement;
    scrollTo(0, scrollHeight);
    return scrollHeight;
  });
  await page.waitForFunction(
    (before) =>
      document.documentElement.scrollHeight > before ||
      document.querySelector("main table")?.getAttribute("aria-rowcount") !== "-1",
    height,
    { polling: "raf" },
  );
}

/** Scrolls until the server has no more. Resolves to how many rows there are, whether drawn or not. */
export async function scrollThrough(page: Page): Promise<number> {
  while (await hasMoreRows(page)) await scrollToNextPage(page);
  return (await rowCount(page)) - 1;
}
