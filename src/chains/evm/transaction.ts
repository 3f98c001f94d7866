import { keccak_256 } from "@noble/hashes/sha3.js";
import { fail } from "../../kernel/errors.ts";
import { MAX_EVM_TRANSACTION_BYTES } from "../../kernel/limits.ts";
import type { DecodedCall } from "./contract-interface.ts";
import type { Refuse } from "./payload.ts";
import { decodeRlp, encodeRlp, RlpError, type RlpItem, rlpInteger } from "./rlp.ts";
import { rlpBytes, rlpFixedBytes, rlpList, rlpOptional, rlpTuple, rlpUint } from "./rlp-codec.ts";

/** A secp256k1 signature: `r` and `s` as 64 hex digits without prefix, and the recovery bit. */
export type RecoverableSignature = { readonly r: string; readonly s: string; readonly yParity: 0 | 1 };

const uint64 = rlpUint(64);
const uint256 = rlpUint(256);
const address = rlpFixedBytes(20);
const bytes32 = rlpFixedBytes(32);

/** `to`; '' for a contract creation. */
export const recipient = rlpOptional(address);

/** EIP-2930, "Specification". */
export const accessList = rlpList(rlpTuple({ address, storageKeys: rlpList(bytes32) }));

/** EIP-7702, "Set code transaction". */
const authorizationList = rlpList(
  rlpTuple({ chainId: uint256, address, nonce: uint64, yParity: rlpUint(8), r: uint256, s: uint256 }),
);

const call = { gas: uint64, to: recipient, value: uint256, data: rlpBytes };
const feeMarket = { chainId: uint64, nonce: uint64, maxPriorityFeePerGas: uint256, maxFeePerGas: uint256 };

/** The signed members, in their order; a legacy transaction may have three more after them (EIP-155). */
const FORMS = {
  LEGACY: rlpTuple({ nonce: uint64, gasPrice: uint256, ...call }),
  TYPE_1: rlpTuple({ chainId: uint64, nonce: uint64, gasPrice: uint256, ...call, accessList }),
  TYPE_2: rlpTuple({ ...feeMarket, ...call, accessList }),
  TYPE_3: rlpTuple({
    ...feeMarket,
    ...call,
    to: address,
    accessList,
    maxFeePerBlobGas: uint256,
    blobVersionedHashes: rlpList(bytes32),
  }),
  TYPE_4: rlpTuple({ ...feeMarket, ...call, to: address, accessList, authorizationList }),
};

type Type = keyof typeof FORMS;
type TypedType = Exclude<Type, "LEGACY">;
type Read<T extends Type> = ReturnType<(typeof FORMS)[T]["read"]>;
type Typed<T extends TypedType> = { readonly type: T } & Read<T>;

/**
 * An unsigned transaction. Quantities are bigints, everything else is lowercase 0x hex; `to` is '' for a contract creation. A legacy
 * transaction from before EIP-155 has no `chainId` and is valid on every chain.
 */
export type EvmTransaction =
  | ({ readonly type: "LEGACY"; readonly chainId?: bigint } & Read<"LEGACY">)
  | Typed<"TYPE_1">
  | Typed<"TYPE_2">
  | Typed<"TYPE_3">
  | Typed<"TYPE_4">;

/** The first byte of a typed transaction (EIP-2718). */
const TYPE_BYTES: Readonly<Record<TypedType, number>> = { TYPE_1: 1, TYPE_2: 2, TYPE_3: 3, TYPE_4: 4 };
const TYPES_BY_BYTE = new Map(Object.entries(TYPE_BYTES).map(([type, byte]) => [byte, type as TypedType]));
const TEMPO_TYPE_BYTE = 0x76;
/** EIP-2718: from this value on, the first byte belongs to a legacy transaction, which is a list. */
export const FIRST_LEGACY_BYTE = 0xc0;
/** EIP-2718: below this value, the first byte is the type of a typed transaction. */
const FIRST_RESERVED_BYTE = 0x80;

export const LEGACY_LENGTH = FORMS.LEGACY.length;
export const SIGNATURE_LENGTH = 3;
export const SIGNED_ALREADY = "is signed already; send it without its signature";
/** The first byte of a blob's versioned hash (EIP-4844, `VERSIONED_HASH_VERSION_KZG`). */
const KZG_VERSION = "0x01";

/**
 * Parses an unsigned transaction: legacy, EIP-2930, EIP-1559, EIP-4844 (the body, without blobs) or EIP-7702. Parsing is so strict that the
 * result encodes to the same bytes again; those bytes are signed. `field` names the request's field in errors.
 *
 * @throws KeysteadError TRANSACTION_UNSUPPORTED for an unknown type, TRANSACTION_INVALID
 */
export function parseUnsignedTransaction(
  bytes: Uint8Array,
  field: string,
  refuse: Refuse = transactionRefusal(field),
): EvmTransaction {
  const transaction = read(bytes, field, refuse);
  checkIdentity(serializeUnsigned(transaction), bytes, refuse);
  return transaction;
}

function read(bytes: Uint8Array, field: string, refuse: Refuse): EvmTransaction {
  const first = bytes[0];
  if (first === undefined) return refuse("it", "is empty");
  if (first >= FIRST_LEGACY_BYTE) return readLegacy(readItem(bytes, refuse), refuse);
  if (first >= FIRST_RESERVED_BYTE) return refuse("it", "begins with neither a transaction type nor a list");
  const type = TYPES_BY_BYTE.get(first);
  if (type === undefined) return failUnsupported(first, field);
  const transaction = readTyped(type, readItem(bytes.subarray(1), refuse), refuse);
  check(transaction, refuse);
  return transaction;
}

/** The values that are decided on must be the bytes that are signed. The strictness of every reader ensures this, and this check verifies it. */
export function checkIdentity(encoded: Buffer, bytes: Uint8Array, refuse: Refuse): void {
  if (!encoded.equals(bytes)) refuse("it", "is not in its one canonical encoding");
}

/** A function that rejects the request's `field` as a transaction that cannot be signed or sent, because of the value at `place`. */
export function transactionRefusal(field: string, todo: "signed" | "sent" = "signed"): Refuse {
  return (place, reason) => fail("TRANSACTION_INVALID", { field, reason: `cannot be ${todo}: ${place} ${reason}` });
}

/** The RLP item that a transaction's bytes encode. */
export function readItem(bytes: Uint8Array, refuse: Refuse): RlpItem {
  if (bytes.length > MAX_EVM_TRANSACTION_BYTES) refuse("it", `is longer than ${MAX_EVM_TRANSACTION_BYTES} bytes`);
  try {
    return decodeRlp(bytes);
  } catch (error) {
    if (!(error instanceof RlpError)) throw error;
    return refuse("its RLP", error.message);
  }
}

/** The number of signed members, if a transaction's first byte is a known type; otherwise undefined. */
export function typedLength(typeByte: number): number | undefined {
  const type = TYPES_BY_BYTE.get(typeByte);
  return type && FORMS[type].length;
}

function failUnsupported(typeByte: number, field: string): never {
  const type = `has the type 0x${typeByte.toString(16).padStart(2, "0")}`;
  if (typeByte === TEMPO_TYPE_BYTE) {
    fail("TRANSACTION_UNSUPPORTED", { field, reason: `${type}; send it as TRANSACTION_TYPE_TEMPO` });
  }
  fail("TRANSACTION_UNSUPPORTED", { field, reason: `${type}; supported are legacy and 0x01 to 0x04` });
}

function readLegacy(item: RlpItem, refuse: Refuse): EvmTransaction {
  if (item instanceof Uint8Array || item.length === LEGACY_LENGTH) {
    return { type: "LEGACY", ...FORMS.LEGACY.read(item, "", refuse) };
  }
  const [chainId, r, s] = item.slice(LEGACY_LENGTH);
  if (item.length !== LEGACY_LENGTH + SIGNATURE_LENGTH || !chainId || !r || !s) {
    return refuse("it", `has ${item.length} members; a legacy transaction has 6, or 9 with chainId, 0, 0 at its end`);
  }
  if (r.length > 0 || s.length > 0) return refuse("it", SIGNED_ALREADY);
  const transaction = {
    type: "LEGACY",
    chainId: uint64.read(chainId, "chainId", refuse),
    ...FORMS.LEGACY.read(item.slice(0, LEGACY_LENGTH), "", refuse),
  } as const;
  if (transaction.chainId === 0n) {
    refuse("chainId", "must not be 0; leave it and the two zeros out to sign without one");
  }
  return transaction;
}

function readTyped(type: TypedType, item: RlpItem, refuse: Refuse): Exclude<EvmTransaction, { type: "LEGACY" }> {
  const form = FORMS[type];
  if (!(item instanceof Uint8Array)) {
    // The network form of a blob transaction wraps it with blobs, commitments and proofs (EIP-4844, "Networking").
    if (type === "TYPE_3" && item[0] && !(item[0] instanceof Uint8Array)) {
      refuse("it", "has blobs around it; send the transaction's body alone and put them back after signing");
    }
    if (item.length === form.length + SIGNATURE_LENGTH) refuse("it", SIGNED_ALREADY);
  }
  return { type, ...form.read(item, "", refuse) } as Exclude<EvmTransaction, { type: "LEGACY" }>;
}

/** Rejects transactions that no node would accept, or that would not do what they say. */
function check(transaction: Exclude<EvmTransaction, { type: "LEGACY" }>, refuse: Refuse): void {
  if (transaction.chainId === 0n) refuse("chainId", "must not be 0");
  if ("maxFeePerGas" in transaction && transaction.maxPriorityFeePerGas > transaction.maxFeePerGas) {
    refuse("maxPriorityFeePerGas", "must not be higher than `maxFeePerGas`");
  }
  if (transaction.type === "TYPE_3") checkBlobHashes(transaction.blobVersionedHashes, refuse);
  if (transaction.type === "TYPE_4") checkAuthorizations(transaction.authorizationList, refuse);
}

function checkBlobHashes(hashes: readonly string[], refuse: Refuse): void {
  if (hashes.length === 0) refuse("blobVersionedHashes", "must not be empty");
  const odd = hashes.findIndex((hash) => !hash.startsWith(KZG_VERSION));
  if (odd !== -1) refuse(`blobVersionedHashes[${odd}]`, `must begin with ${KZG_VERSION}`);
}

function checkAuthorizations(authorizations: Read<"TYPE_4">["authorizationList"], refuse: Refuse): void {
  if (authorizations.length === 0) refuse("authorizationList", "must not be empty");
  for (const [index, { yParity, r, s }] of authorizations.entries()) {
    const place = `authorizationList[${index}]`;
    if (yParity > 1n) refuse(`${place}.yParity`, "must be 0 or 1");
    if (r === 0n || s === 0n) refuse(place, "must be signed before the transaction is");
  }
}

/** The 32 bytes to sign: the hash of the parsed bytes. */
export function hashToSign(transaction: EvmTransaction): Buffer {
  return Buffer.from(keccak_256(serializeUnsigned(transaction)));
}

/** The bytes that `parseUnsignedTransaction` parsed. */
export function serializeUnsigned(transaction: EvmTransaction): Buffer {
  const { chainId } = transaction;
  const isReplayProtected = transaction.type === "LEGACY" && chainId !== undefined;
  return encode(transaction, isReplayProtected ? [rlpInteger(chainId), Buffer.alloc(0), Buffer.alloc(0)] : []);
}

/** The transaction in the form for broadcast. */
export function serializeSigned(transaction: EvmTransaction, signature: RecoverableSignature): Buffer {
  const v = transaction.type === "LEGACY" ? legacyV(transaction.chainId, signature) : BigInt(signature.yParity);
  return encode(transaction, [v, BigInt(`0x${signature.r}`), BigInt(`0x${signature.s}`)].map(rlpInteger));
}

/** EIP-155, "Specification"; without a chain id as in the Yellow Paper, appendix F. */
const legacyV = (chainId: bigint | undefined, { yParity }: RecoverableSignature): bigint =>
  BigInt(yParity) + (chainId === undefined ? 27n : 35n + 2n * chainId);

function encode(transaction: EvmTransaction, tail: readonly RlpItem[]): Buffer {
  // A transaction's type is that of its form, but the compiler cannot infer it.
  const write = FORMS[transaction.type].write as (transaction: EvmTransaction) => readonly RlpItem[];
  const list = encodeRlp([...write(transaction), ...tail]);
  return transaction.type === "LEGACY" ? list : Buffer.concat([Buffer.of(TYPE_BYTES[transaction.type]), list]);
}

/**
 * The content of `eth.tx` in policies. `from` is the address that signs; `call` is `data` decoded by a stored interface of the contract.
 */
export function ethereumFacts(transaction: EvmTransaction, from: string, call?: DecodedCall) {
  const { type, chainId, nonce, gas, to, value, data } = transaction;
  return {
    type,
    from: from.toLowerCase(),
    to,
    data,
    value,
    gas,
    nonce,
    ...(chainId !== undefined && { chain_id: chainId }),
    ...feeFacts(transaction),
    ...call,
  };
}

function feeFacts(transaction: EvmTransaction) {
  if ("gasPrice" in transaction) return { gas_price: transaction.gasPrice };
  const { maxFeePerGas, maxPriorityFeePerGas } = transaction;
  return {
    gas_price: maxFeePerGas,
    max_fee_per_gas: maxFeePerGas,
    max_priority_fee_per_gas: maxPriorityFeePerGas,
    ...(transaction.type === "TYPE_3" && { max_fee_per_blob_gas: transaction.maxFeePerBlobGas }),
  };
}
