import { keccak_256 } from "@noble/hashes/sha3.js";
import { deriveAddress } from "../../crypto/addresses.ts";
import { recoverPublicKey } from "../../crypto/recover-public-key.ts";
import { toHex } from "../../kernel/bytes.ts";
import { fail } from "../../kernel/errors.ts";
import type { Refuse } from "./payload.ts";
import { encodeRlp, type RlpItem, rlpInteger } from "./rlp.ts";
import { rlpUint } from "./rlp-codec.ts";
import {
  checkIdentity,
  type EvmTransaction,
  FIRST_LEGACY_BYTE,
  hashToSign,
  LEGACY_LENGTH,
  parseUnsignedTransaction,
  type RecoverableSignature,
  readItem,
  SIGNATURE_LENGTH,
  serializeSigned,
  transactionRefusal,
  typedLength,
} from "./transaction.ts";

/** A transaction that is ready to be sent. */
export interface SignedTransaction {
  transaction: EvmTransaction;
  signature: RecoverableSignature;
}

const BLOB_TYPE_BYTE = 3;
/** Half of the group's order. A signature with a higher s is a second form of one with a lower s (EIP-2). */
const HIGHEST_S = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n;
/** Large enough for the chain id in `v` of a legacy transaction. */
const uint72 = rlpUint(72);
const uint256 = rlpUint(256);

/**
 * Parses a signed transaction: legacy with a chain id (EIP-155), EIP-2930, EIP-1559 or EIP-7702. The signed part is parsed as strictly as
 * by `parseUnsignedTransaction`, and the whole encodes to the same bytes again. `field` names the request's field in errors.
 *
 * @throws KeysteadError TRANSACTION_UNSUPPORTED for another type, TRANSACTION_INVALID
 */
export function parseSignedTransaction(bytes: Uint8Array, field: string): SignedTransaction {
  const refuse = transactionRefusal(field, "sent");
  const [first = 0] = bytes;
  if (bytes.length === 0) refuse("it", "is empty");
  const { unsigned, signature } =
    first >= FIRST_LEGACY_BYTE ? splitLegacy(bytes, refuse) : splitTyped(first, bytes, field, refuse);
  const transaction = parseUnsignedTransaction(unsigned, field, refuse);
  checkIdentity(serializeSigned(transaction, signature), bytes, refuse);
  return { transaction, signature };
}

interface Split {
  /** The transaction before it was signed. */
  unsigned: Buffer;
  signature: RecoverableSignature;
}

function splitTyped(typeByte: number, bytes: Uint8Array, field: string, refuse: Refuse): Split {
  const length = typedLength(typeByte);
  if (length === undefined || typeByte === BLOB_TYPE_BYTE) {
    const type = `has the type 0x${typeByte.toString(16).padStart(2, "0")}`;
    return fail("TRANSACTION_UNSUPPORTED", { field, reason: `${type}; legacy, 0x01, 0x02 and 0x04 can be sent` });
  }
  const { body, tail } = split(readItem(bytes.subarray(1), refuse), length, refuse);
  const yParity = uint256.read(tail[0], "yParity", refuse);
  if (yParity > 1n) refuse("yParity", "must be 0 or 1");
  const unsigned = Buffer.concat([Buffer.of(typeByte), encodeRlp(body)]);
  return { unsigned, signature: signatureOf(yParity, tail, refuse) };
}

/** EIP-155: `v` is twice the chain id plus 35 or 36. The hash that is signed contains the chain id in place of the signature. */
function splitLegacy(bytes: Uint8Array, refuse: Refuse): Split {
  const { body, tail } = split(readItem(bytes, refuse), LEGACY_LENGTH, refuse);
  const v = uint72.read(tail[0], "v", refuse);
  if (v === 27n || v === 28n) refuse("it", "names no chain, so that every chain would take it; sign it for one");
  if (v < 35n) refuse("v", "must name the chain and the recovery bit (EIP-155)");
  const unsigned = encodeRlp([...body, rlpInteger((v - 35n) / 2n), Buffer.alloc(0), Buffer.alloc(0)]);
  return { unsigned, signature: signatureOf((v - 35n) % 2n, tail, refuse) };
}

function split(item: RlpItem, length: number, refuse: Refuse) {
  if (item instanceof Uint8Array) return refuse("it", "must be a list");
  if (item.length === length) refuse("it", "is not signed");
  const [v, r, s] = item.slice(length);
  if (item.length !== length + SIGNATURE_LENGTH || !v || !r || !s) {
    return refuse("it", `has ${item.length} members and not ${length} with the three of a signature behind them`);
  }
  return { body: item.slice(0, length), tail: [v, r, s] as const };
}

function signatureOf(parity: bigint, [, r, s]: readonly [RlpItem, RlpItem, RlpItem], refuse: Refuse) {
  if (uint256.read(s, "s", refuse) > HIGHEST_S) refuse("s", "is in the upper half of the group's order (EIP-2)");
  const hexOf = (item: RlpItem, place: string) => uint256.read(item, place, refuse).toString(16).padStart(64, "0");
  return { r: hexOf(r, "r"), s: hexOf(s, "s"), yParity: parity === 1n ? 1 : 0 } as const;
}

/**
 * The address that signed it, with the checksum of EIP-55.
 *
 * @throws KeysteadError TRANSACTION_INVALID if the signature is valid for no address
 */
export function senderOf({ transaction, signature }: SignedTransaction, field: string): string {
  const { r, s, yParity } = signature;
  const publicKey = recoverPublicKey(hashToSign(transaction), Buffer.from(`${r}${s}`, "hex"), yParity);
  if (!publicKey) return transactionRefusal(field, "sent")("its signature", "is none that a key could have made");
  return deriveAddress("ADDRESS_FORMAT_ETHEREUM", "CURVE_SECP256K1", publicKey);
}

/** The transaction's hash on the chain; 0x hex. */
export const transactionHash = ({ transaction, signature }: SignedTransaction): string =>
  `0x${toHex(keccak_256(serializeSigned(transaction, signature)))}`;
