import { base58 } from "@scure/base";
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from "./transfers.ts";

/** Decodes the data of token accounts and lookup tables. Addresses in base58. */

/** An account that holds tokens, of the Token program or of Token-2022. */
export interface TokenHolding {
  mint: string;
  owner: string;
  amount: bigint;
  /** The account that may spend from it, and how much; null if there is none. */
  delegate: string | null;
  delegated: bigint;
  closeAuthority: string | null;
}

const KEY = 32;
/** Mint, owner and amount; an optional delegate; a state; whether it wraps SOL; the delegated amount; an optional authority. */
const HOLDING_LENGTH = 165;
const AT = { owner: 32, amount: 64, delegate: 72, state: 108, delegated: 121, closeAuthority: 129 };
/** In accounts and mints with extensions, the byte after the first 165 says which of the two it is; this value means an account. */
const ACCOUNT_TYPE = 2;
const MULTISIG_LENGTH = 355;

/** Undefined for accounts that hold no tokens: one of another program, a mint, or one that is not initialized yet. */
export function tokenHolding(program: string, data: Buffer): TokenHolding | undefined {
  if (program !== TOKEN_PROGRAM && program !== TOKEN_2022_PROGRAM) return undefined;
  const isExtended = data.length > HOLDING_LENGTH && data[HOLDING_LENGTH] === ACCOUNT_TYPE;
  if ((data.length !== HOLDING_LENGTH && !isExtended) || data.length === MULTISIG_LENGTH) return undefined;
  if (data[AT.state] === 0) return undefined;
  return {
    mint: keyAt(data, 0),
    owner: keyAt(data, AT.owner),
    amount: data.readBigUInt64LE(AT.amount),
    delegate: optionalAt(data, AT.delegate),
    delegated: data.readBigUInt64LE(AT.delegated),
    closeAuthority: optionalAt(data, AT.closeAuthority),
  };
}

const keyAt = (data: Buffer, at: number): string => base58.encode(data.subarray(at, at + KEY));
const optionalAt = (data: Buffer, at: number): string | null =>
  data.readUInt32LE(at) === 0 ? null : keyAt(data, at + 4);

const LOOKUP_TABLE_PROGRAM = "AddressLookupTab1e1111111111111111111111111";
const LOOKUP_TABLE = 1;
const LOOKUP_META_LENGTH = 56;
/** The length of the largest table. */
export const LOOKUP_TABLE_LENGTH = LOOKUP_META_LENGTH + KEY * 256;
const NEVER = 2n ** 64n - 1n;

/** The addresses in a lookup table; undefined if it is not a lookup table, or one that is being deactivated. */
export function lookupTableAddresses(program: string, data: Buffer): string[] | undefined {
  if (program !== LOOKUP_TABLE_PROGRAM || data.length < LOOKUP_META_LENGTH) return undefined;
  if (data.readUInt32LE(0) !== LOOKUP_TABLE || data.readBigUInt64LE(4) !== NEVER) return undefined;
  if ((data.length - LOOKUP_META_LENGTH) % KEY !== 0) return undefined;
  return Array.from({ length: (data.length - LOOKUP_META_LENGTH) / KEY }, (_, index) =>
    keyAt(data, LOOKUP_META_LENGTH + KEY * index),
  );
}
