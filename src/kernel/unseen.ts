/**
 * Characters that show nothing, change the order in which others are shown, or are commands to a terminal: a text with them is read as
 * another one than it is. Spaces are none of them; tabs and ends of lines are.
 */
export const UNSEEN = /[\p{Default_Ignorable_Code_Point}\p{Cc}\p{Zl}\p{Zp}\u2800]/gu;

/** JSON to be read by people: the same value, with such characters in its strings written as escapes. */
export const readableJson = (value: unknown): string =>
  JSON.stringify(value, null, 2).replace(UNSEEN, (character) => (character === "\n" ? character : escaped(character)));

const escaped = (character: string): string =>
  character
    .split("")
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .join("");
