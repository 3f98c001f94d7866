import { keccak_256 } from "@noble/hashes/sha3.js";
import { bytesOfHex, hexOf } from "../bytes.ts";

/** Unsigned Ethereum transactions, to be read before somebody approves them. Nothing is decided by what stands here. */

export interface EvmTransaction {
  /** As EIP-2718 numbers it; 0 of a legacy one. */
  type: 0 | 1 | 2 | 3 | 4;
  /** In decimals; undefined of a legacy one without replay protection (EIP-155). */
  chainId: string | undefined;
  nonce: string;
  gasLimit: string;
  /** Of the chain's smallest unit, for each unit of gas: the most that is paid. */
  gasPrice: string;
  /** With its checksum (EIP-55); undefined where the transaction makes a contract. */
  to: string | undefined;
  /** Of the chain's smallest unit, in decimals. */
  value: string;
  /** As hex with prefix. */
  data: string;
}

/** As the server takes it: 128 KiB. */
const MAX_BYTES = 128 * 1024;
const MAX_DEPTH = 6;
const MAX_ITEMS = 20_000;
const ADDRESS_BYTES = 20;
const MAX_INTEGER_BYTES = 32;

/** The fields of each kind, in order, up to those that are not told. */
const LEGACY = ["nonce", "gasPrice", "gasLimit", "to", "value", "data"] as const;
const TYPED = {
  1: { fields: ["chainId", "nonce", "gasPrice", "gasLimit", "to", "value", "data"], length: 8 },
  2: { fields: ["chainId", "nonce", "tip", "gasPrice", "gasLimit", "to", "value", "data"], length: 9 },
  3: { fields: ["chainId", "nonce", "tip", "gasPrice", "gasLimit", "to", "value", "data"], length: 11 },
  4: { fields: ["chainId", "nonce", "tip", "gasPrice", "gasLimit", "to", "value", "data"], length: 10 },
} as const;

/** Thrown inside alone: the bytes are no transaction. */
class NotRlp extends Error {}

/** Undefined of whatever is not an unsigned transaction from its first byte to its last. */
export function readEvmTransaction(hex: string): EvmTransaction | undefined {
  const digits = hex.replace(/^0x/i, "");
  if (digits.length > 2 * MAX_BYTES) return undefined;
  const bytes = bytesOfHex(digits);
  if (!bytes) return undefined;
  try {
    return transactionOf(bytes);
  } catch (error) {
    if (error instanceof NotRlp) return undefined;
    throw error;
  }
}

function transactionOf(bytes: Uint8Array): EvmTransaction | undefined {
  const [first = 0] = bytes;
  if (isTyped(first)) {
    const { fields, length } = TYPED[first];
    const items = listOf(bytes.subarray(1));
    return items.length === length ? readFields(first, fields, items) : undefined;
  }
  const items = listOf(bytes);
  if (items.length === LEGACY.length) return readFields(0, LEGACY, items);
  const [chainId, zero, alsoZero] = items.slice(LEGACY.length);
  const isProtected = items.length === LEGACY.length + 3 && isEmpty(zero) && isEmpty(alsoZero);
  return isProtected
    ? readFields(0, [...LEGACY, "chainId"], [...items.slice(0, LEGACY.length), chainId as Item])
    : undefined;
}

const isTyped = (type: number): type is keyof typeof TYPED => type in TYPED;

function readFields(type: EvmTransaction["type"], names: readonly string[], items: readonly Item[]): EvmTransaction {
  const field = (name: string) => textOf(items[names.indexOf(name)]);
  return {
    type,
    chainId: names.includes("chainId") ? integerOf(field("chainId")) : undefined,
    nonce: integerOf(field("nonce")),
    gasLimit: integerOf(field("gasLimit")),
    gasPrice: integerOf(field("gasPrice")),
    to: addressOf(field("to")),
    value: integerOf(field("value")),
    data: `0x${hexOf(field("data"))}`,
  };
}

type Item = Uint8Array | Item[];

const isEmpty = (item: Item | undefined): boolean => item instanceof Uint8Array && item.length === 0;

function textOf(item: Item | undefined): Uint8Array {
  if (!(item instanceof Uint8Array)) throw new NotRlp();
  return item;
}

function integerOf(bytes: Uint8Array): string {
  if (bytes.length > MAX_INTEGER_BYTES || bytes[0] === 0) throw new NotRlp();
  return bytes.length === 0 ? "0" : BigInt(`0x${hexOf(bytes)}`).toString();
}

function addressOf(bytes: Uint8Array): string | undefined {
  if (bytes.length === 0) return undefined;
  if (bytes.length !== ADDRESS_BYTES) throw new NotRlp();
  return checksummed(hexOf(bytes));
}

const UPPER_FROM = 8;

/** EIP-55: a letter is a capital where the digit of the hash in its place is 8 or more. */
export function checksummed(digits: string): string {
  const hash = hexOf(keccak_256(new TextEncoder().encode(digits)));
  const letters = [...digits].map((digit, index) =>
    Number.parseInt(hash[index] ?? "0", 16) >= UPPER_FROM ? digit.toUpperCase() : digit,
  );
  return `0x${letters.join("")}`;
}

/** One list of RLP, all the bytes of it. */
function listOf(bytes: Uint8Array): Item[] {
  const left = { items: MAX_ITEMS };
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
  if (first === undefined || depth > MAX_DEPTH || left.items-- <= 0) throw new NotRlp();
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
