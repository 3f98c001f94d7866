import { keccak_256 } from "@noble/hashes/sha3.js";
import { fail } from "../../kernel/errors.ts";
import type { Refuse } from "../evm/payload.ts";
import { encodeRlp, type RlpItem } from "../evm/rlp.ts";
import { rlpBytes, rlpFixedBytes, rlpItem, rlpList, rlpOptional, rlpTuple, rlpUint } from "../evm/rlp-codec.ts";
import {
  accessList,
  checkIdentity,
  type RecoverableSignature,
  readItem,
  recipient,
  SIGNED_ALREADY,
  transactionRefusal,
} from "../evm/transaction.ts";

const uint64 = rlpUint(64);
const uint128 = rlpUint(128);
const uint256 = rlpUint(256);
const address = rlpFixedBytes(20);

const members = {
  chainId: uint64,
  maxPriorityFeePerGas: uint128,
  maxFeePerGas: uint128,
  gas: uint64,
  calls: rlpList(rlpTuple({ to: recipient, value: uint256, input: rlpBytes })),
  accessList,
  nonceKey: uint256,
  nonce: uint64,
  validBefore: uint64,
  validAfter: uint64,
  feeToken: rlpOptional(address),
  feePayerSignature: rlpBytes,
  authorizationList: rlpList(rlpTuple({ chainId: uint256, address, nonce: uint64, signature: rlpBytes })),
};

const PLAIN = rlpTuple(members);
/** The account signed this permission for another key before, separately; it is kept unchanged. */
const WITH_KEY = rlpTuple({ ...members, keyAuthorization: rlpTuple({ authorization: rlpItem, signature: rlpBytes }) });

/**
 * An unsigned Tempo transaction. Quantities are bigints, 0 if absent. Everything else is lowercase 0x hex, '' for the recipient of a call
 * that creates a contract and for no fee token. `feePayerSignature` is `0x`, or `0x00` if somebody else will sign as fee payer.
 */
export type TempoTransaction = ReturnType<(typeof PLAIN)["read"]> &
  Partial<Pick<ReturnType<(typeof WITH_KEY)["read"]>, "keyAuthorization">>;

/** The first byte of a Tempo transaction (EIP-2718). */
const TYPE_BYTE = 0x76;
const FEE_PAYER_INDEX = Object.keys(members).indexOf("feePayerSignature");
const NO_FEE_PAYER = "0x";
/** The placeholder for the signature of a fee payer. */
const FEE_PAYER_MARKER = "0x00";
/** Length of `0x` and a selector. */
const SELECTOR_LENGTH = 10;

/**
 * Parses an unsigned Tempo transaction (type 0x76), as strictly as `parseUnsignedTransaction` parses Ethereum's: the parsed bytes are the
 * signed bytes. `field` names the request's field in errors.
 *
 * @throws KeysteadError TRANSACTION_UNSUPPORTED for another type, TRANSACTION_INVALID
 */
export function parseUnsignedTempoTransaction(bytes: Uint8Array, field: string): TempoTransaction {
  const refuse = transactionRefusal(field);
  if (bytes.length === 0) refuse("it", "is empty");
  if (bytes[0] !== TYPE_BYTE) {
    fail("TRANSACTION_UNSUPPORTED", { field, reason: "is not a Tempo transaction, which begins with 0x76" });
  }
  const transaction = read(readItem(bytes.subarray(1), refuse), refuse);
  check(transaction, refuse);
  checkIdentity(serializeUnsignedTempo(transaction), bytes, refuse);
  return transaction;
}

function read(item: RlpItem, refuse: Refuse): TempoTransaction {
  if (item instanceof Uint8Array) return PLAIN.read(item, "", refuse);
  const last = item.at(-1);
  const isSigned = item.length > WITH_KEY.length || (item.length === WITH_KEY.length && last instanceof Uint8Array);
  if (isSigned) refuse("it", SIGNED_ALREADY);
  const feePayerSignature = item[FEE_PAYER_INDEX];
  if (feePayerSignature && !(feePayerSignature instanceof Uint8Array)) {
    // The sender signs the placeholder instead of the signature, so what is signed would differ from what was received.
    refuse("feePayerSignature", "is there already; send the byte 00 in its place, and add it after signing");
  }
  return (item.length === WITH_KEY.length ? WITH_KEY : PLAIN).read(item, "", refuse);
}

/** Rejects transactions that no node would accept, or that would not do what they say. */
function check(transaction: TempoTransaction, refuse: Refuse): void {
  const { calls, validBefore, validAfter } = transaction;
  if (transaction.chainId === 0n) refuse("chainId", "must not be 0");
  if (transaction.maxPriorityFeePerGas > transaction.maxFeePerGas) {
    refuse("maxPriorityFeePerGas", "must not be higher than `maxFeePerGas`");
  }
  if (calls.length === 0) refuse("calls", "must not be empty");
  const withValue = calls.findIndex(({ value }) => value !== 0n);
  if (withValue !== -1) refuse(`calls[${withValue}].value`, "must be 0: Tempo has no native token");
  if (validBefore !== 0n && validBefore <= validAfter) refuse("validBefore", "must be after validAfter");
  checkFeePayer(transaction, refuse);
  checkAuthorizations(transaction, refuse);
}

function checkFeePayer({ feePayerSignature, feeToken }: TempoTransaction, refuse: Refuse): void {
  if (feePayerSignature === NO_FEE_PAYER) return;
  if (feePayerSignature !== FEE_PAYER_MARKER) refuse("feePayerSignature", "must be empty or the byte 00");
  // A fee payer chooses the token, so the sender does not sign it.
  if (feeToken !== "") refuse("feeToken", "must be empty where a fee payer will sign");
}

function checkAuthorizations({ authorizationList, keyAuthorization }: TempoTransaction, refuse: Refuse): void {
  const unsigned = authorizationList.findIndex(({ signature }) => signature === "0x");
  if (unsigned !== -1) refuse(`authorizationList[${unsigned}]`, "must be signed before the transaction is");
  if (keyAuthorization?.signature === "0x") refuse("keyAuthorization", "must be signed before the transaction is");
}

/** The 32 bytes to sign: the hash of the parsed bytes. */
export function hashTempoToSign(transaction: TempoTransaction): Buffer {
  return Buffer.from(keccak_256(serializeUnsignedTempo(transaction)));
}

/** The bytes that `parseUnsignedTempoTransaction` parsed. */
export function serializeUnsignedTempo(transaction: TempoTransaction): Buffer {
  return encode(transaction, []);
}

/** The transaction in the form for broadcast, or for its fee payer: the additional last member has r, s and 27 or 28. */
export function serializeSignedTempo(transaction: TempoTransaction, { r, s, yParity }: RecoverableSignature): Buffer {
  return encode(transaction, [Buffer.concat([Buffer.from(r, "hex"), Buffer.from(s, "hex"), Buffer.of(27 + yParity)])]);
}

function encode({ keyAuthorization, ...plain }: TempoTransaction, tail: readonly RlpItem[]): Buffer {
  const items = keyAuthorization ? WITH_KEY.write({ ...plain, keyAuthorization }) : PLAIN.write(plain);
  return Buffer.concat([Buffer.of(TYPE_BYTE), encodeRlp([...items, ...tail])]);
}

/** The content of `tempo.tx` in policies. `from` is the address that signs. */
export function tempoFacts(transaction: TempoTransaction, from: string) {
  return {
    chain_id: transaction.chainId,
    from: from.toLowerCase(),
    nonce: transaction.nonce,
    gas_limit: transaction.gas,
    max_fee_per_gas: transaction.maxFeePerGas,
    max_priority_fee_per_gas: transaction.maxPriorityFeePerGas,
    fee_token: transaction.feeToken,
    valid_before: transaction.validBefore,
    valid_after: transaction.validAfter,
    calls: transaction.calls.map(({ to, input }) => ({ to, input, function_signature: selectorOf(input) })),
  };
}

const selectorOf = (input: string): string => (input.length < SELECTOR_LENGTH ? "" : input.slice(0, SELECTOR_LENGTH));
