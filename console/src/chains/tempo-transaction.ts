import { MAX_EVM_TRANSACTION_BYTES } from "../../../src/kernel/limits.ts";
import { bytesOfHex, hexOf } from "../bytes.ts";
import { addressOf } from "./evm-transaction.ts";
import { bytesIn, type Item, integerOf, itemsIn, listOf, NotRlp, unlessNotRlp } from "./rlp.ts";

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
  const [chainId, , gasPrice, gasLimit, calls, , nonceKey, ...rest] = items;
  const [nonce, validBefore, validAfter, feeToken, feePayer, authorizations] = rest;
  return {
    chainId: integerOf(bytesIn(chainId)),
    calls: itemsIn(calls).map(callOf),
    gasPrice: integerOf(bytesIn(gasPrice)),
    gasLimit: integerOf(bytesIn(gasLimit)),
    nonceKey: integerOf(bytesIn(nonceKey)),
    nonce: integerOf(bytesIn(nonce)),
    validBefore: integerOf(bytesIn(validBefore)),
    validAfter: integerOf(bytesIn(validAfter)),
    feeToken: addressOf(bytesIn(feeToken)),
    hasFeePayer: bytesIn(feePayer).length > 0,
    authorizations: itemsIn(authorizations).length,
    permitsKey,
  };
}

function callOf(item: Item): TempoCall {
  const [to, value, data, ...more] = itemsIn(item);
  if (more.length > 0) throw new NotRlp();
  return { to: addressOf(bytesIn(to)), value: integerOf(bytesIn(value)), data: `0x${hexOf(bytesIn(data))}` };
}
