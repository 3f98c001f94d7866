import fc from "fast-check";

/*
 * `fc.string({ unit: "binary" })` gives the same, and makes a map of all characters in each process that asks for it, which takes a
 * second of processor time and 180 MB.
 */

/** The halves of characters, which are none by themselves, begin here. */
const FIRST_HALF = 0xd800;
const HALVES = 0x800;
const LAST = 0x10ffff;

const character = fc.nat(LAST - HALVES).map(
  (index) => String.fromCodePoint(index < FIRST_HALF ? index : index + HALVES),
  // With this, fast-check puts in names such as `__proto__` as well.
  (value) => {
    const [only, ...others] = typeof value === "string" ? value : "";
    if (only === undefined || others.length > 0) throw new Error("not one character");
    const code = only.codePointAt(0) as number;
    return code < FIRST_HALF ? code : code - HALVES;
  },
);

/** Text of any characters, those beyond the Basic Multilingual Plane and control characters among them. */
export const anyText = (length: { maxLength?: number } = {}): fc.Arbitrary<string> =>
  fc.string({ unit: character, ...length });
