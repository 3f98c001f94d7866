import { keccak_256 } from "@noble/hashes/sha3.js";
import { MAX_EVM_TRANSACTION_BYTES } from "../../../src/kernel/limits.ts";
import { bytesOfHex, hexOf } from "../bytes.ts";
import { bytesIn, type Item, integerOf, isEmpty, itemsIn, listOf, NotRlp, unlessNotRlp } from "./rlp.ts";

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
  /** How many authorizations of accounts (EIP-7702) it carries; they were signed before. */
  authorizations: number;
}

const ADDRESS_BYTES = 20;

/** The type whose last field is a list of authorizations. */
const SET_CODE = 4;
/** The fields of each kind, in order, up to those that are not told. */
const LEGACY = ["nonce", "gasPrice", "gasLimit", "to", "value", "data"] as const;
const TYPED = {
  1: { fields: ["chainId", "nonce", "gasPrice", "gasLimit", "to", "value", "data"], length: 8 },
  2: { fields: ["chainId", "nonce", "tip", "gasPrice", "gasLimit", "to", "value", "data"], length: 9 },
  3: { fields: ["chainId", "nonce", "tip", "gasPrice", "gasLimit", "to", "value", "data"], length: 11 },
  4: { fields: ["chainId", "nonce", "tip", "gasPrice", "gasLimit", "to", "value", "data"], length: 10 },
} as const;

/** Undefined of whatever is not an unsigned transaction from its first byte to its last. */
export function readEvmTransaction(hex: string): EvmTransaction | undefined {
  const digits = hex.replace(/^0x/i, "");
  if (digits.length > 2 * MAX_EVM_TRANSACTION_BYTES) return undefined;
  const bytes = bytesOfHex(digits);
  if (!bytes) return undefined;
  return unlessNotRlp(() => transactionOf(bytes));
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
  const field = (name: string) => bytesIn(items[names.indexOf(name)]);
  return {
    type,
    chainId: names.includes("chainId") ? integerOf(field("chainId")) : undefined,
    nonce: integerOf(field("nonce")),
    gasLimit: integerOf(field("gasLimit")),
    gasPrice: integerOf(field("gasPrice")),
    to: addressOf(field("to")),
    value: integerOf(field("value")),
    data: `0x${hexOf(field("data"))}`,
    authorizations: type === SET_CODE ? itemsIn(items.at(-1)).length : 0,
  };
}

/** With its checksum; undefined of no bytes. */
export function addressOf(bytes: Uint8Array): string | undefined {
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
