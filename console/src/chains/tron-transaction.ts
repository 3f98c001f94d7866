import { sha256 } from "@noble/hashes/sha2.js";
import { createBase58check } from "@scure/base";
import { MAX_TRON_BYTES } from "../../../src/kernel/limits.ts";
import { bytesOfHex, hexOf } from "../bytes.ts";

/** Tron transactions to be signed, read before somebody approves them. Nothing is decided by what stands here. */

export interface TronTransaction {
  /** The contract's kind by its name in the protocol, as `TransferContract`. */
  kind: string;
  /** Whose account it is, in base58. */
  owner: string;
  /** Of the account's permissions, the one that is signed for; 0 is its owner's. */
  permission: string;
  /** In sun: the most that is burnt for calling a contract. */
  feeLimit: string;
  /** The memo. */
  memo: Uint8Array;
  /** Of a `TransferContract`, in sun; of a `TransferAssetContract`, of the smallest unit of a token by its number. */
  transfer?: { to: string; amount: string; token?: string };
  /** Of a `TriggerSmartContract`, values in sun and of a token's smallest unit, `data` as hex with prefix. */
  call?: { contract: string; value: string; data: string; tokenValue: string; token: string };
}

/** Of one message; more is none of those that are read here. */
const MAX_FIELDS = 1000;
const MAX_VARINT_BYTES = 10;
const ADDRESS_BYTES = 21;
const ADDRESS_PREFIX = 0x41;

/** Numbers of fields in the protocol's definition: of `Transaction.raw`, of a contract, and of `Any`. */
const RAW = { data: 10, contract: 11, feeLimit: 18 };
const CONTRACT = { parameter: 2, permission: 5 };
const PARAMETER = { typeUrl: 1, value: 2 };
/** Of all kinds of contract but those below. */
const OWNER = 1;
const OWNER_OF: Readonly<Record<string, number>> = { TransferAssetContract: 2, AccountUpdateContract: 2 };
const TRANSFER = { to: 2, amount: 3 };
const ASSET_TRANSFER = { token: 1, to: 3, amount: 4 };
const CALL = { contract: 2, value: 3, data: 4, tokenValue: 5, token: 6 };

/** Of a token's number in decimals. */
const MAX_TOKEN_LENGTH = 32;
const MAX_TYPE_URL_LENGTH = 128;
const TYPE_URL = /^type\.googleapis\.com\/protocol\.([A-Za-z0-9]{1,64})$/;

/** Thrown inside alone: the bytes are no transaction. */
class NotATransaction extends Error {}

/** The `raw_data` of a transaction; undefined of whatever is none with one contract. */
export function readTronTransaction(hex: string): TronTransaction | undefined {
  const digits = hex.replace(/^0x/i, "");
  if (digits.length > 2 * MAX_TRON_BYTES) return undefined;
  const bytes = bytesOfHex(digits);
  if (!bytes) return undefined;
  try {
    return transactionOf(bytes);
  } catch (error) {
    if (error instanceof NotATransaction) return undefined;
    throw error;
  }
}

function transactionOf(bytes: Uint8Array): TronTransaction {
  const raw = fieldsOf(bytes);
  const contract = fieldsOf(bytesAt(raw, RAW.contract));
  const parameter = fieldsOf(bytesAt(contract, CONTRACT.parameter));
  const [, kind] =
    TYPE_URL.exec(String.fromCharCode(...bytesAt(parameter, PARAMETER.typeUrl).subarray(0, MAX_TYPE_URL_LENGTH))) ?? [];
  if (kind === undefined) throw new NotATransaction();
  const members = fieldsOf(bytesAt(parameter, PARAMETER.value));
  return {
    kind,
    owner: tronAddress(bytesAt(members, OWNER_OF[kind] ?? OWNER)),
    permission: numberAt(contract, CONTRACT.permission),
    feeLimit: numberAt(raw, RAW.feeLimit),
    memo: bytesAt(raw, RAW.data),
    ...(kind === "TransferContract" && { transfer: transferOf(members) }),
    ...(kind === "TransferAssetContract" && { transfer: assetTransferOf(members) }),
    ...(kind === "TriggerSmartContract" && { call: callOf(members) }),
  };
}

const transferOf = (members: Fields): TronTransaction["transfer"] & object => ({
  to: tronAddress(bytesAt(members, TRANSFER.to)),
  amount: numberAt(members, TRANSFER.amount),
});

function assetTransferOf(members: Fields): TronTransaction["transfer"] & object {
  const { token, to, amount } = ASSET_TRANSFER;
  return {
    to: tronAddress(bytesAt(members, to)),
    amount: numberAt(members, amount),
    token: String.fromCharCode(...bytesAt(members, token).subarray(0, MAX_TOKEN_LENGTH)),
  };
}

const callOf = (members: Fields): TronTransaction["call"] & object => ({
  contract: tronAddress(bytesAt(members, CALL.contract)),
  value: numberAt(members, CALL.value),
  data: `0x${hexOf(bytesAt(members, CALL.data))}`,
  tokenValue: numberAt(members, CALL.tokenValue),
  token: numberAt(members, CALL.token),
});

type Field = bigint | Uint8Array;
type Fields = ReadonlyMap<number, readonly Field[]>;

function fieldsOf(bytes: Uint8Array): Fields {
  const fields = new Map<number, Field[]>();
  let left = MAX_FIELDS;
  for (let at = 0; at < bytes.length; ) {
    const tag = varintAt(bytes, at);
    const [number, wireType] = [Number(tag.value >> 3n), tag.value % 8n];
    const isSized = wireType === 2n;
    if (left-- <= 0 || (!isSized && wireType !== 0n)) throw new NotATransaction();
    const { value, end } = varintAt(bytes, tag.end);
    if (isSized && value > BigInt(bytes.length - end)) throw new NotATransaction();
    at = isSized ? end + Number(value) : end;
    const found = fields.get(number) ?? [];
    found.push(isSized ? bytes.subarray(end, at) : value);
    fields.set(number, found);
  }
  return fields;
}

/** Undefined where it is left out. What occurs twice could be read in two ways. */
function fieldAt(fields: Fields, number: number): Field | undefined {
  const [value, ...more] = fields.get(number) ?? [];
  if (more.length > 0) throw new NotATransaction();
  return value;
}

function varintAt(bytes: Uint8Array, start: number): { value: bigint; end: number } {
  let value = 0n;
  for (let place = 0; place < MAX_VARINT_BYTES; place++) {
    const byte = bytes[start + place];
    if (byte === undefined) break;
    value |= BigInt(byte & 0x7f) << BigInt(7 * place);
    if (byte < 0x80) return { value, end: start + place + 1 };
  }
  throw new NotATransaction();
}

/** Empty where it is left out, as the protocol says. */
function bytesAt(fields: Fields, number: number): Uint8Array {
  const value = fieldAt(fields, number) ?? new Uint8Array();
  if (typeof value === "bigint") throw new NotATransaction();
  return value;
}

/** In decimals; 0 where it is left out. */
function numberAt(fields: Fields, number: number): string {
  const value = fieldAt(fields, number) ?? 0n;
  if (typeof value !== "bigint") throw new NotATransaction();
  return value.toString();
}

const base58check = createBase58check(sha256);

function tronAddress(bytes: Uint8Array): string {
  if (bytes.length !== ADDRESS_BYTES || bytes[0] !== ADDRESS_PREFIX) throw new NotATransaction();
  return base58check.encode(bytes);
}

/** The same address as contracts write it, in 20 bytes of hex with prefix, in base58. */
export const tronAddressOf = (hex: string): string =>
  tronAddress(Uint8Array.of(ADDRESS_PREFIX, ...(bytesOfHex(hex.slice(2)) ?? [])));
