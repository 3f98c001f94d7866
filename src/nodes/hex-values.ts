/** Reads values of Ethereum's JSON-RPC. Undefined for anything invalid. */

export type Members = Record<string, unknown>;

/** The members of an object. Empty for any other value. */
export const membersOf = (value: unknown): Members =>
  typeof value === "object" && value !== null ? (value as Members) : {};

export const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value);

/** Reads each object of a list. Undefined if one of them is invalid. */
export function listIn<T>(
  list: readonly unknown[],
  read: (members: Members, index: number) => T | undefined,
): T[] | undefined {
  const values: T[] = [];
  for (const [index, item] of list.entries()) {
    const value = read(membersOf(item), index);
    if (value === undefined) return undefined;
    values.push(value);
  }
  return values;
}

export const integerIn = (value: unknown): bigint | undefined =>
  typeof value === "string" && /^0x[0-9a-f]{1,64}$/i.test(value) ? BigInt(value) : undefined;

/** An integer of up to 48 bits. */
export const numberIn = (value: unknown): number | undefined =>
  typeof value === "string" && /^0x[0-9a-f]{1,12}$/i.test(value) ? Number(value) : undefined;

/** 32 bytes in lowercase hex. */
export const hashIn = (value: unknown): string | undefined => hexOf(value, 64);

/** 20 bytes in lowercase hex. */
export const addressIn = (value: unknown): string | undefined => hexOf(value, 40);

const hexOf = (value: unknown, digits: number): string | undefined =>
  typeof value === "string" && value.length === digits + 2 && /^0x[0-9a-f]+$/i.test(value)
    ? value.toLowerCase()
    : undefined;

export const hexOfNumber = (number: number): string => `0x${number.toString(16)}`;
