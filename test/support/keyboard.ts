import assert from "node:assert/strict";
import type { Locator, Page } from "playwright-core";
import { focused, openedPage } from "./console-page.ts";

/** The console by the keyboard alone: what is pressed, and what must be seen of the focus after each press. */

/** Nothing that somebody wants is further than so many presses from where they are. */
const MOST_PRESSES = 60;

/** After so many, nothing is drawn any more that a press has brought. */
const MOST_FRAMES = 30;

type Step = "Tab" | "Shift+Tab";

/** Goes one step. What has the focus then must have a mark around it, and nothing may lie over it (WCAG 2.2, 2.4.7 and 2.4.11). */
export async function step(page: Page, key: Step): Promise<void> {
  await page.keyboard.press(key);
  const fault = await page.evaluate(async (frames) => {
    // Past the last place of a page there is none; what is being drawn anew is looked at again.
    for (let frame = 1; ; frame++) {
      const element = document.activeElement ?? document.body;
      const found = element === document.body ? undefined : faultOf(element);
      if (found === undefined || frame === frames) return found;
      await new Promise(requestAnimationFrame);
    }

    function faultOf(element: Element): string | undefined {
      const tell = (what: string) => `${what}: ${element.outerHTML.slice(0, 300)}`;
      const isMarked = (each: Element) => {
        const { outlineStyle, outlineWidth } = getComputedStyle(each);
        return each.matches(":focus-within") && outlineStyle !== "none" && Number.parseFloat(outlineWidth) >= 1;
      };
      // The mark of a field may be around what the field stands in.
      const around: Element[] = [];
      for (let each: Element | null = element; each && around.length < 5; each = each.parentElement) around.push(each);
      if (!around.some(isMarked)) return tell("its focus is not seen");
      const { left, top, width, height } = element.getBoundingClientRect();
      const isOver = (x: number, y: number) => {
        const seen = document.elementFromPoint(x, y);
        return seen !== null && !seen.contains(element) && !element.contains(seen);
      };
      const points = [0.1, 0.5, 0.9].flatMap((x) => [0.1, 0.5, 0.9].map((y) => [left + x * width, top + y * height]));
      const inWindow = points.filter(([x = 0, y = 0]) => x >= 0 && y >= 0 && x < innerWidth && y < innerHeight);
      if (inWindow.length === 0) return tell("it is out of view");
      return inWindow.some(([x = 0, y = 0]) => isOver(x, y)) ? tell("something lies over it") : undefined;
    }
  }, MOST_FRAMES);
  assert.equal(fault, undefined);
}

const hasFocus = (place: Locator): Promise<boolean> => place.evaluate((each) => each === document.activeElement);

/** Goes on by Tab until the focus is there. */
export async function tabTo(place: Locator, key: Step = "Tab", atMost = MOST_PRESSES): Promise<void> {
  await place.waitFor();
  for (let presses = 0; presses < atMost; presses++) {
    await step(place.page(), key);
    if (await hasFocus(place)) return;
  }
  assert.fail(`${atMost} presses of ${key} did not lead to ${place}`);
}

/** Goes there and presses it. */
export async function pressAt(place: Locator, key: Step = "Tab"): Promise<void> {
  await tabTo(place, key);
  await place.page().keyboard.press("Enter");
}

/** Goes to a field and types in the place of what it has. */
export async function typeAt(place: Locator, text: string, key: Step = "Tab"): Promise<void> {
  await tabTo(place, key);
  await place.page().keyboard.press("Control+a");
  await place.page().keyboard.type(text);
}

/** In the list of the field that has the focus. */
export async function choose(page: Page, name: string): Promise<void> {
  const option = page.getByRole("option", { name, exact: true });
  if (!(await option.isVisible())) await page.keyboard.press("ArrowDown");
  await option.waitFor();
  // A list that has just opened forgets in a timer which choice was gone to.
  await page.evaluate(() => new Promise((done) => setTimeout(done)));
  for (let presses = 0; presses < MOST_PRESSES; presses++) {
    if ((await option.getAttribute("data-combobox-selected")) !== null) return page.keyboard.press("Enter");
    await page.keyboard.press("ArrowDown");
  }
  assert.fail(`${MOST_PRESSES} presses of ArrowDown did not lead to ${name}`);
}

/** Waits for the page of this title, at whose heading the keyboard begins. */
export async function arrivedAt(page: Page, title: string): Promise<void> {
  await openedPage(page, title);
  await focused(page.getByRole("heading", { level: 1, name: title }));
}

/** Goes to a page by the menu, from the heading of another one. */
export async function keyTo(page: Page, label: string, key: Step = "Shift+Tab"): Promise<void> {
  const link = page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: new RegExp(`^${label}`) });
  await pressAt(link, key);
  await arrivedAt(page, label);
}

/** A date is several places in one field, and not all of a page may be there when the walk begins. */
const MOST_STEPS_AT_A_PLACE = 8;
const MOST_WALKS = 5;

/**
 * Goes through all of a page from its heading and back. Each place that can have the focus must have it, in the order of the page; where something
 * came or went on the way, it is walked once more.
 */
export async function walkThrough(page: Page): Promise<void> {
  const heading = page.getByRole("heading", { level: 1 });
  await page.waitForFunction(() => document.querySelector("[aria-label=Loading]") === null);
  for (let walk = 1; ; walk++) {
    const before = await markPlaces(page);
    const walked = await walkDown(page, before);
    await walkUp(page, heading);
    // A place that was drawn anew has no number any more.
    const left = await page.locator("main [data-place]").count();
    const isAsItWas = before === left && before === (await markPlaces(page));
    if (!isAsItWas && walk < MOST_WALKS) continue;
    assert.deepEqual(walked, [...Array(before).keys()], "all places, in the order of the page");
    return;
  }
}

/** Numbers the places of a page that can have the focus. Resolves to how many there are. */
const markPlaces = (page: Page): Promise<number> =>
  page.evaluate(() => {
    const kinds = "a[href], button, input, textarea, summary, [tabindex], [contenteditable=true]";
    const open = [...document.querySelectorAll<HTMLElement>(`main :is(${kinds})`)].filter(
      (each) => (each.tabIndex >= 0 || each.isContentEditable) && !each.matches(":disabled") && each.checkVisibility(),
    );
    for (const each of document.querySelectorAll("[data-place]")) each.removeAttribute("data-place");
    for (const [index, each] of open.entries()) each.dataset.place = String(index);
    return open.length;
  });

/** Resolves to the numbers of the places on the way, or what they are where they have none. */
async function walkDown(page: Page, places: number): Promise<(number | string)[]> {
  const walked: (number | string)[] = [];
  for (let steps = 0; steps < places * MOST_STEPS_AT_A_PLACE && walked.at(-1) !== places - 1; steps++) {
    await step(page, "Tab");
    const place = await page.evaluate(() => {
      const { dataset, outerHTML } = document.activeElement as HTMLElement;
      return dataset.place === undefined ? outerHTML.slice(0, 300) : Number(dataset.place);
    });
    if (walked.at(-1) !== place) walked.push(place);
  }
  return walked;
}

/** To what stands before the heading, and to the heading's own place again. */
async function walkUp(page: Page, heading: Locator): Promise<void> {
  for (let steps = 0; steps < MOST_PRESSES * MOST_STEPS_AT_A_PLACE; steps++) {
    await step(page, "Shift+Tab");
    const isAbove = await heading.evaluate((each) => {
      const { activeElement } = document;
      return (
        activeElement !== null && (each.compareDocumentPosition(activeElement) & Node.DOCUMENT_POSITION_PRECEDING) !== 0
      );
    });
    if (isAbove) return;
  }
  assert.fail("the way back has no end");
}
