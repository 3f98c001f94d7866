/** `int` is a signed integer of 128 bits, `uint` an unsigned one of 256 bits. */
export const MIN_INT = -(2n ** 127n);
export const MAX_INT = 2n ** 127n - 1n;
export const MAX_UINT = 2n ** 256n - 1n;

/** The integer value of a string literal, if it consists of decimal digits only. Used where an integer is expected. */
export function integerFromDigits(text: string): bigint | undefined {
  if (!/^[0-9]{1,78}$/.test(text)) return undefined;
  const value = BigInt(text);
  return value <= MAX_UINT ? value : undefined;
}
