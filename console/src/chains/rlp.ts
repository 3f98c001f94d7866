import { MAX_RLP_DEPTH, MAX_RLP_ITEMS } from "../../../src/kernel/limits.ts";
import { hexOf } from "../bytes.ts";

/** Recursive Length Prefix, in which Ethereum's chains write transactions: the Yellow Paper's appendix B. */

const MAX_INTEGER_BYTES = 32;

/** The bytes are not what is to be read. */
export class NotRlp extends Error {}

/** What `read` makes of bytes, or undefined. */
export function unlessNotRlp<Read>(read: () => Read): Read | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof NotRlp) return undefined;
    throw error;
  }
}

export type Item = Uint8Array | Item[];

export const isEmpty = (item: Item | undefined): boolean => item instanceof Uint8Array && item.length === 0;

export function bytesIn(item: Item | undefined): Uint8Array {
  if (!(item instanceof Uint8Array)) throw new NotRlp();
  return item;
}

/** In decimals. */
export function integerOf(bytes: Uint8Array): string {
  if (bytes.length > MAX_INTEGER_BYTES || bytes[0] === 0) throw new NotRlp();
  return bytes.length === 0 ? "0" : BigInt(`0x${hexOf(bytes)}`).toString();
}

export function itemsIn(item: Item | undefined): Item[] {
  if (!Array.isArray(item)) throw new NotRlp();
  return item;
}

/** One list of RLP, all the bytes of it. */
export function listOf(bytes: Uint8Array): Item[] {
  const left = { items: MAX_RLP_ITEMS };
  const { item, end } = readItem(bytes, 0, 0, left);
  if (end !== bytes.length || !Array.isArray(item)) throw new NotRlp();
  return item;
}

const SHORT_TEXT = 0x80;
const LONG_TEXT = 0xb7;
const SHORT_LIST = 0xc0;
const LONG_LIST = 0xf7;
const SHORT_LENGTH = 55;

/** The Yellow Paper's appendix B, each value in its shortest form. */
function readItem(bytes: Uint8Array, at: number, depth: number, left: { items: number }): { item: Item; end: number } {
  const first = bytes[at];
  if (first === undefined || depth > MAX_RLP_DEPTH || left.items-- <= 0) throw new NotRlp();
  if (first < SHORT_TEXT) return { item: bytes.subarray(at, at + 1), end: at + 1 };
  const isList = first >= SHORT_LIST;
  const [short, long] = isList ? [SHORT_LIST, LONG_LIST] : [SHORT_TEXT, LONG_TEXT];
  const { start, length } =
    first <= long ? { start: at + 1, length: first - short } : longLength(bytes, at, first - long);
  const end = start + length;
  if (end > bytes.length) throw new NotRlp();
  if (!isList) {
    if (length === 1 && (bytes[start] as number) < SHORT_TEXT) throw new NotRlp();
    return { item: bytes.subarray(start, end), end };
  }
  const items: Item[] = [];
  const within = bytes.subarray(0, end);
  for (let next = start; next < end; ) {
    const read = readItem(within, next, depth + 1, left);
    items.push(read.item);
    next = read.end;
  }
  return { item: items, end };
}

/** More would be longer than any transaction. */
const MAX_LENGTH_BYTES = 4;

function longLength(bytes: Uint8Array, at: number, count: number): { start: number; length: number } {
  const start = at + 1 + count;
  if (count > MAX_LENGTH_BYTES || start > bytes.length || bytes[at + 1] === 0) throw new NotRlp();
  const length = Number.parseInt(hexOf(bytes.subarray(at + 1, start)), 16);
  if (length <= SHORT_LENGTH) throw new NotRlp();
  return { start, length };
}
