import { randomInt } from "node:crypto";

/** Crockford's Base32: no I, L, O and U. */
const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const DIGITS = "0123456789";

/** A random code of this many characters. */
export const generateCode = (length: number, alphanumeric: boolean): string => {
  const alphabet = alphanumeric ? ALPHABET : DIGITS;
  return Array.from({ length }, () => alphabet[randomInt(alphabet.length)]).join("");
};

/** What people type for a code comes to the same text: without case, spaces and hyphens, and with the digits that letters look like. */
export const normalizeCode = (typed: string): string =>
  typed.replace(/[\s-]/g, "").toUpperCase().replace(/[IL]/g, "1").replace(/O/g, "0");
