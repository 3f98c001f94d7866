import type { Page } from "playwright-core";
import { buildConsole } from "../scripts/build-console.ts";
import { isBuilt } from "../scripts/console-sources.js";
import type { DatabaseKind } from "../src/storage/engine.ts";
import { noBrowser, startBrowser } from "../test/support/browser.ts";
import { Client } from "../test/support/client.ts";
import { credentialsOf, goTo, hasMoreRows, scrollToNextPage, signInWithText } from "../test/support/console-page.ts";
import { type BenchHooks, type RoundOptions, startServer } from "./rounds.ts";
import { median } from "./statistics.ts";

/**
 * What somebody waits for who looks at the console in Chromium: until anything is seen, until a list of many activities is there, until each
 * further page of it is, and for how long at most the page stands still while it is scrolled from end to end. No network lies between.
 */

/** What is measured: of `more` the slowest page counts, of `scroll` the longest time between two frames. Milliseconds, and megabytes. */
const MEASURES = {
  first_paint: ["ms", "until anything is seen"],
  signed_in: ["ms", "from the credentials to the overview"],
  list: ["ms", "until the newest activities are listed"],
  more: ["ms", "until the slowest further page of them is"],
  scroll: ["ms", "between two frames at most, scrolling through all that were listed"],
  memory: ["MB", "of the page's heap with all that were listed"],
} as const;
type Measure = keyof typeof MEASURES;

export interface ConsoleBenchResult {
  engine: DatabaseKind;
  measure: Measure;
  /** Of the list. */
  activities: number;
  /** In the unit of the measure; of the middle round. */
  value: number;
  worst: number;
}

const WRITERS = 64;
const SCROLL_STEPS = 200;

export async function benchConsole(
  options: RoundOptions & { activities: number; pages: number },
  hooks: BenchHooks<ConsoleBenchResult>,
): Promise<void> {
  if (noBrowser) throw new Error(noBrowser);
  if (!isBuilt()) await buildConsole();
  const { activities, pages } = options;
  for (const engine of options.engines) {
    const { port, subject, key, stop } = await startServer(engine, "console", options, hooks.onStart);
    const client = new Client(`http://127.0.0.1:${port}`, subject.organizationId, key);
    await fill(client, activities);
    const browser = await startBrowser();
    hooks.onStart(() => browser.close());
    const rounds: Record<Measure, number>[] = [];
    for (let round = 0; round < options.rounds; round++) {
      const context = await browser.newContext();
      rounds.push(await look(await context.newPage(), `http://localhost:${port}`, client, pages));
      await context.close();
    }
    for (const measure of Object.keys(MEASURES) as Measure[]) {
      const taken = rounds.map((round) => round[measure]);
      const [value, worst] = [median(taken), Math.max(...taken)].map((each) => Math.round(each));
      hooks.report({ engine, measure, activities, value: value as number, worst: worst as number });
    }
    await browser.close();
    await stop();
  }
}

/** Has so many activities in the organization. */
async function fill(client: Client, activities: number): Promise<void> {
  let made = 0;
  const write = async () => {
    while (made < activities) {
      made++;
      await client.result("update_organization_name", { organizationName: `Organization ${made}` });
    }
  };
  await Promise.all(Array.from({ length: WRITERS }, write));
}

/** @param furtherPages to how many further pages of the list it is scrolled, or to its end */
async function look(page: Page, url: string, client: Client, furtherPages: number): Promise<Record<Measure, number>> {
  await page.goto(url);
  const firstPaint = await page.evaluate(
    () =>
      new Promise<number>((resolve) => {
        const watch = new PerformanceObserver((list) => {
          const paint = list.getEntriesByName("first-contentful-paint")[0];
          if (paint) resolve(paint.startTime);
        });
        watch.observe({ type: "paint", buffered: true });
      }),
  );
  const signedIn = await timed(() => signInWithText(page, credentialsOf(client)));
  const rows = page.locator("main [aria-rowindex]");
  const list = await timed(async () => {
    await goTo(page, "Activities");
    await rows.first().waitFor();
  });
  const pages: number[] = [];
  for (let further = 0; further < furtherPages && (await hasMoreRows(page)); further++) {
    pages.push(await timed(() => scrollToNextPage(page)));
  }
  return {
    first_paint: firstPaint,
    signed_in: signedIn,
    list,
    more: Math.max(0, ...pages),
    scroll: await scroll(page),
    memory: await heapOf(page),
  };
}

/** Megabytes, of what is still needed. */
async function heapOf(page: Page): Promise<number> {
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize } = await session.send("Runtime.getHeapUsage");
  return usedSize / 1e6;
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const begun = performance.now();
  await work();
  return performance.now() - begun;
}

/** Resolves to the longest time between two frames, in milliseconds. */
const scroll = (page: Page): Promise<number> =>
  page.evaluate(async (steps) => {
    const frame = () => new Promise<number>((resolve) => requestAnimationFrame(resolve));
    const height = document.documentElement.scrollHeight;
    let longest = 0;
    let last = await frame();
    for (let step = 0; step <= steps; step++) {
      scrollTo(0, (height * step) / steps);
      const now = await frame();
      longest = Math.max(longest, now - last);
      last = now;
    }
    return longest;
  }, SCROLL_STEPS);

export function lineOfConsole(result: ConsoleBenchResult, json: boolean): string {
  if (json) return JSON.stringify(result);
  const { engine, measure, activities, value, worst } = result;
  const [unit, words] = MEASURES[measure];
  return `${engine} ${value} ${unit} (at worst ${worst}) ${words}; ${activities} activities`;
}
