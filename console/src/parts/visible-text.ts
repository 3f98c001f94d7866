import { UNSEEN } from "../../../src/kernel/unseen.ts";

const SPACING = /[\t\n]/;

/** The scripts whose letters are joined, or kept apart, by what stands between them (Unicode Standard Annex #31, section 2.3). */
const JOINING = [
  ...["Arab", "Syrc", "Mong", "Deva", "Beng", "Guru", "Gujr", "Orya", "Taml", "Telu", "Knda", "Mlym", "Sinh"],
  ...["Khmr", "Mymr"],
]
  .map((script) => `\\p{Script=${script}}`)
  .join("");
const JOINED = new RegExp(`[${JOINING}][\\u200c\\u200d](?=[${JOINING}])|[${JOINING}]\\u200d`, "u");
/** Pictures that are made of several, in a form of their own, and keys with a sign on them. */
const PICTURE = new RegExp(
  [
    String.raw`(?:\p{Extended_Pictographic}|\p{Emoji_Modifier}|\ufe0f)\u200d(?=\p{Extended_Pictographic})`,
    String.raw`\p{Extended_Pictographic}[\ufe0e\ufe0f]`,
    String.raw`[0-9#*]\ufe0f(?=\u20e3)`,
  ].join("|"),
  "u",
);

/** The text with whatever could not be seen in it written as `[U+202E]`, so that it looks like itself and like no other one. */
export function visibleText(text: string): string {
  return text.replace(UNSEEN, (character, at: number) => {
    if (SPACING.test(character) || isUsual(text, at)) return character;
    const code = (character.codePointAt(0) as number).toString(16).toUpperCase().padStart(4, "0");
    return `[U+${code}]`;
  });
}

/** Whether what stands there belongs to how a word or a picture is written, by its neighbours. */
function isUsual(text: string, at: number): boolean {
  const before = [...text.slice(Math.max(0, at - 2), at)].at(-1) ?? "";
  const around = `${before}${text.slice(at, at + 3)}`;
  return [JOINED, PICTURE].some((pattern) => around.search(pattern) === 0);
}
