/**
 * Characters that are invisible, change the order in which other characters are displayed, or control a terminal. A text with them reads
 * differently from what it is. Spaces are not included; tabs and line ends are.
 */
export const UNSEEN = /[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Zl}\p{Zp}\u2800]/gu;

/** JSON for people to read: the same value, with such characters escaped in its strings. */
export const readableJson = (value: unknown): string => readableText(JSON.stringify(value, null, 2));

/** A text for people to read, with such characters escaped, except line ends. */
export const readableText = (text: string): string =>
  text.replace(UNSEEN, (character) => (character === "\n" ? character : escaped(character)));

const escaped = (character: string): string =>
  character
    .split("")
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .join("");
