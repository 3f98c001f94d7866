import { keccak_256 } from "@noble/hashes/sha3.js";
import { toHex } from "../../kernel/bytes.ts";

/** Call data for contract calls that the service makes itself; everything is lowercase hex. */

const WORD_DIGITS = 64;

/**
 * The data of a function call by signature, such as `deposit(uint256,address)`. Each parameter must fit into one word: a bigint, or 0x hex
 * for an address.
 */
export const callData = (signature: string, ...values: readonly (bigint | string)[]): string =>
  `0x${toHex(keccak_256(Buffer.from(signature))).slice(0, 8)}${words(...values)}`;

/** Values of one word each, concatenated, without 0x. */
export const words = (...values: readonly (bigint | string | number)[]): string => values.map(word).join("");

function word(value: bigint | string | number): string {
  const digits = BigInt(value).toString(16);
  if (digits.length > WORD_DIGITS || digits.startsWith("-")) throw new Error(`no word: ${value}`);
  return digits.padStart(WORD_DIGITS, "0");
}

/** A call to a contract; 0x hex. */
export interface ContractCall {
  to: string;
  data: string;
}

/** The encoding of one parameter of the type `(address,bytes)[]`, without 0x. */
export function encodeCalls(calls: readonly ContractCall[]): string {
  const encoded = calls.map(({ to, data }) => {
    const digits = data.slice(2);
    const padded = digits.padEnd(Math.ceil(digits.length / WORD_DIGITS) * WORD_DIGITS, "0");
    return `${words(to, 0x40, digits.length / 2)}${padded}`;
  });
  let offset = 32 * calls.length;
  const offsets = encoded.map((one) => {
    const at = offset;
    offset += one.length / 2;
    return at;
  });
  return `${words(0x20, calls.length, ...offsets)}${encoded.join("")}`;
}
