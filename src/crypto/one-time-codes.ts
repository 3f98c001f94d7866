import { randomInt } from "node:crypto";

/** Crockford's Base32: without I, L, O and U. */
const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const DIGITS = "0123456789";

/** A random code of this many characters. */
export const generateCode = (length: number, alphanumeric: boolean): string => {
  const alphabet = alphanumeric ? ALPHABET : DIGITS;
  return Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join("");
};

/** Normalizes what people type for a code: ignores case, spaces and hyphens, and turns letters that look like digits into digits. */
export const normalizeCode = (typed: string): string =>
  typed.replace(/[\s-]/g, "").toUpperCase().replace(/[IL]/g, "1").replace(/O/g, "0");
