import { MAX_EVM_TRANSACTION_BYTES } from "../../../src/kernel/limits.ts";
import { bytesOfHex, hexOf } from "../bytes.ts";
import { addressOf } from "./evm-transaction.ts";
import { bytesIn, type Item, integerOf, itemsIn, listOf, unlessNotRlp } from "./rlp.ts";

/** Unsigned Tempo transactions, to be read before somebody approves them. Nothing is decided by what stands here. */

export interface TempoTransaction {
  /** Quantities in decimals. */
  chainId: string;
  calls: TempoCall[];
  gasLimit: string;
  gasPrice: string;
  nonce: string;
  /** Of which of the account's nonces. */
  nonceKey: string;
  /** Seconds since 1970; 0 where there is no such bound. */
  validAfter: string;
  validBefore: string;
  /** Undefined where it names none. */
  feeToken: string | undefined;
  /** Whether somebody else will sign to pay. */
  hasFeePayer: boolean;
  /** How many authorizations of accounts it carries, and whether a permission for another key; they were signed before. */
  authorizations: number;
  permitsKey: boolean;
}

export interface TempoCall {
  /** Undefined where it makes a contract. */
  to: string | undefined;
  value: string;
  /** As hex with prefix. */
  data: string;
}

const TYPE = 0x76;
const MEMBERS = 13;
const CALL_MEMBERS = 3;

/** Undefined of whatever is not an unsigned Tempo transaction from its first byte to its last. */
export function readTempoTransaction(hex: string): TempoTransaction | undefined {
  const digits = hex.replace(/^0x/i, "");
  if (digits.length > 2 * MAX_EVM_TRANSACTION_BYTES) return undefined;
  const bytes = bytesOfHex(digits);
  return bytes?.[0] === TYPE ? unlessNotRlp(() => transactionOf(listOf(bytes.subarray(1)))) : undefined;
}

function transactionOf(items: Item[]): TempoTransaction | undefined {
  const permitsKey = items.length === MEMBERS + 1 && Array.isArray(items[MEMBERS]);
  if (items.length !== MEMBERS && !permitsKey) return undefined;
  const integer = (at: number) => integerOf(bytesIn(items[at]));
  const calls = itemsIn(items[4]).map(callOf);
  if (calls.some((call) => call === undefined)) return undefined;
  return {
    chainId: integer(0),
    calls: calls as TempoCall[],
    gasPrice: integer(2),
    gasLimit: integer(3),
    nonceKey: integer(6),
    nonce: integer(7),
    validBefore: integer(8),
    validAfter: integer(9),
    feeToken: addressOf(bytesIn(items[10])),
    hasFeePayer: bytesIn(items[11]).length > 0,
    authorizations: itemsIn(items[12]).length,
    permitsKey,
  };
}

function callOf(item: Item): TempoCall | undefined {
  const parts = itemsIn(item);
  if (parts.length !== CALL_MEMBERS) return undefined;
  const [to, value, data] = parts.map(bytesIn) as [Uint8Array, Uint8Array, Uint8Array];
  return { to: addressOf(to), value: integerOf(value), data: `0x${hexOf(data)}` };
}
