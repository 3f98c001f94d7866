import type { Unit } from "./chains.ts";

/** An amount of the smallest unit, a whole number as text, in whole ones: exact, without trailing zeros. */
export function amountWords(smallest: string, { symbol, decimals }: Unit): string {
  if (!/^[0-9]+$/.test(smallest)) return `${smallest} ${symbol}`;
  const digits = smallest.replace(/^0+(?=.)/, "").padStart(decimals + 1, "0");
  const whole = digits.slice(0, digits.length - decimals);
  const rest = digits.slice(digits.length - decimals).replace(/0+$/, "");
  return `${whole}${rest === "" ? "" : `.${rest}`} ${symbol}`;
}

/** The smallest units of an amount that somebody typed; undefined where it is none, or finer than the unit goes. */
export function smallestOf(typed: string, { decimals }: Unit): string | undefined {
  const [, whole, rest = ""] = /^([0-9]+)(?:\.([0-9]+))?$/.exec(typed.trim()) ?? [];
  if (whole === undefined || rest.length > decimals) return undefined;
  return (whole + rest.padEnd(decimals, "0")).replace(/^0+(?=.)/, "");
}
