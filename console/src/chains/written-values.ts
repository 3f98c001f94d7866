import { checksummed } from "./evm-transaction.ts";

/** Values of Ethereum as JSON carries them, as the server takes them. */

const INTEGER = /^(0|-?[1-9][0-9]{0,77}|0x[0-9a-f]{1,64})$/i;
const ADDRESS = /^0x[0-9a-f]{40}$/i;

/** Undefined of what is no integer, or a number that is not exact. */
export function writtenInteger(value: unknown): bigint | undefined {
  const isWritten = Number.isSafeInteger(value) || (typeof value === "string" && INTEGER.test(value));
  return isWritten ? BigInt(value as string | number) : undefined;
}

/** With its checksum; undefined of what is no address. */
export const writtenAddress = (value: unknown): string | undefined =>
  typeof value === "string" && ADDRESS.test(value) ? checksummed(value.slice(2).toLowerCase()) : undefined;
