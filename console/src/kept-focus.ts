/** Parts of a page that the focus can go to where what had it in them is gone, from the smallest. A page's own heading stands for all of it. */
const PART = "section, fieldset, form, [role=group], [role=dialog], main";

/** What the library calls a button that is busy. */
const BUSY = "data-loading";

/** What had the focus last, and the parts of the page that it was in. */
interface Held {
  element: HTMLElement;
  parts: HTMLElement[];
}

/**
 * Keeps the focus of the keyboard where somebody was. A button that is busy is disabled, and what was voted on, deleted or opened takes its button
 * with it: browsers then give the focus to nobody, and whoever hears the page is at its beginning. A dialog that closes sees to it itself.
 */
export function keepFocus(): void {
  let held: Held | undefined;
  const look = () => {
    const isElsewhere = document.activeElement !== document.body && document.activeElement !== held?.element;
    if (!held || isElsewhere) return;
    if (!isOut(held.element)) {
      if (document.activeElement === document.body) held.element.focus({ preventScroll: true });
    } else if (!isBusy(held.element)) {
      const part = held.parts.find((each) => each.isConnected);
      if (part) giveFocus(part);
    }
  };
  document.addEventListener("focusin", ({ target }) => {
    held = target instanceof HTMLElement ? { element: target, parts: partsAround(target) } : undefined;
  });
  // Who presses beside everything wants the focus nowhere.
  document.addEventListener("pointerdown", () => {
    held = undefined;
  });
  new MutationObserver(look).observe(document.body, {
    childList: true,
    subtree: true,
    attributeFilter: ["disabled", BUSY],
  });
}

function partsAround(element: HTMLElement): HTMLElement[] {
  const parts: HTMLElement[] = [];
  for (let part = element.closest<HTMLElement>(PART); part; part = part.parentElement?.closest(PART) ?? null)
    if (part !== element) parts.push(part);
  return parts;
}

const isOut = (element: HTMLElement): boolean => !element.isConnected || element.matches(":disabled");
const isBusy = (element: HTMLElement): boolean => element.isConnected && element.hasAttribute(BUSY);

function giveFocus(part: HTMLElement): void {
  const to = (part.matches("main") && part.querySelector("h1")) || part;
  if (!to.hasAttribute("tabindex")) to.setAttribute("tabindex", "-1");
  to.focus({ preventScroll: true });
}
