/** Amounts of US dollars as integers, in millionths of a dollar: limits as people write them, and costs on chains. */

const DECIMALS = 6;
const MICRO_USD = 10n ** BigInt(DECIMALS);

/** @param usd digits with at most 6 decimals, such as `12.50` */
export function microUsd(usd: string): bigint {
  const [whole = "", rest = ""] = usd.split(".");
  return BigInt(whole) * MICRO_USD + BigInt(rest.padEnd(DECIMALS, "0"));
}

/** An amount formatted for people, with at least two decimals: `12.50`, `0.000021`. */
export function shownUsd(amount: bigint): string {
  const digits = amount.toString().padStart(DECIMALS + 1, "0");
  const rest = digits.slice(-DECIMALS).replace(/0{1,4}$/, "");
  return `${digits.slice(0, -DECIMALS)}.${rest}`;
}

/**
 * The value of an amount of a native asset, rounded up.
 *
 * @param amount in its smallest unit; `decimals` is 18 for wei, 9 for lamports
 * @param price of one whole unit in US dollars, such as `2000.00`
 */
export function costOf(amount: bigint, price: string, decimals = 18): bigint {
  const [whole = "", rest = ""] = price.split(".");
  const scale = 10n ** BigInt(decimals + rest.length);
  return (amount * BigInt(whole + rest) * MICRO_USD + scale - 1n) / scale;
}
