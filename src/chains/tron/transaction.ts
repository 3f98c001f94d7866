import { createHash } from "node:crypto";
import { toHex } from "../../kernel/bytes.ts";
import { fail } from "../../kernel/errors.ts";
import { MAX_TRON_BYTES } from "../../kernel/limits.ts";
import { contractKinds, type TronContract } from "./contracts.ts";
import { bytes, decodeMessage, encodeField, int32, int64, message, messages, type Refuse, text } from "./protobuf.ts";

/** A transaction as it is signed. Times in milliseconds since 1970, amounts in sun. */
export interface TronTransaction {
  /** 2 bytes, or none. */
  readonly refBlockBytes: Buffer;
  /** 8 bytes, or none. */
  readonly refBlockHash: Buffer;
  readonly expiration: bigint;
  readonly timestamp: bigint;
  /** The memo. */
  readonly data: Buffer;
  readonly feeLimit: bigint;
  /** The permission of the owner's account that is used: 0 is its owner permission. */
  readonly permissionId: bigint;
  /** The owner of the account, in base58: the signer itself, unless another key has one of its permissions. */
  readonly ownerAddress: string;
  readonly contract: TronContract;
}

/** A transaction as policies see it, under the names of the policy language. `data` and the block's bytes are hex. */
export interface TronFacts {
  ref_block_bytes: string;
  ref_block_hash: string;
  expiration: bigint;
  timestamp: bigint;
  data: string;
  fee_limit: bigint;
  contract: (TronContract & { permission_id: bigint })[];
}

/** Fields of `Transaction.raw`. Those that the network no longer reads are missing here, and therefore rejected. */
const rawFields = {
  ref_block_bytes: bytes(1, 2),
  ref_block_hash: bytes(4, 8),
  expiration: int64(8),
  data: bytes(10),
  contract: messages(11, 1, {
    type: int32(1),
    parameter: message(2, { type_url: text(1), value: bytes(2) }),
    Permission_id: int32(5),
  }),
  timestamp: int64(14),
  fee_limit: int64(18),
};

const TYPE_URL = "type.googleapis.com/protocol.";
const RAW_DATA_FIELD = 1;
const SIGNATURE_FIELD = 2;
const SIGNATURE_BYTES = 65;
/** Added to the recovery bit, as in Ethereum's legacy signatures. */
const RECOVERY_OFFSET = 27;

/**
 * Parses `raw_data`, the signed part of a Tron transaction. `field` names the request's field in errors.
 *
 * @throws KeysteadError TRANSACTION_INVALID; TRANSACTION_UNSUPPORTED for a kind of contract that cannot be signed
 */
export function parseTransaction(rawData: Uint8Array, field: string): TronTransaction {
  const refuse: Refuse = (reason) => {
    return fail("TRANSACTION_INVALID", {
      field,
      reason: `is not valid \`raw_data\` of a Tron transaction: it ${reason}`,
    });
  };
  if (rawData.length > MAX_TRON_BYTES) refuse(`has more than ${MAX_TRON_BYTES} bytes`);
  const buffer = Buffer.from(rawData.buffer, rawData.byteOffset, rawData.byteLength);
  const raw = decodeMessage(buffer, rawFields, "the transaction", refuse);
  const { type, parameter, Permission_id } = raw.contract[0] ?? refuse("has no contract");
  const kind = contractKinds.get(Number(type)) ?? refuseKind(type, field);
  if (parameter?.type_url !== TYPE_URL + kind.type)
    refuse(`has a ${kind.type} whose \`type_url\` names something else`);
  const contract = kind.read(parameter.value, refuse);
  return {
    refBlockBytes: raw.ref_block_bytes,
    refBlockHash: raw.ref_block_hash,
    expiration: raw.expiration,
    timestamp: raw.timestamp,
    data: raw.data,
    feeLimit: raw.fee_limit,
    permissionId: Permission_id,
    ownerAddress: contract.owner_address,
    contract,
  };
}

function refuseKind(type: bigint, field: string): never {
  const supported = [...contractKinds.values()].map((kind) => kind.type).join(", ");
  const reason = `has a contract of type ${type}; supported are ${supported}; sign the hash of others with sign_raw_payload`;
  return fail("TRANSACTION_UNSUPPORTED", { field, reason });
}

/** The transaction's id, which is also the 32 bytes to sign: SHA-256 of `raw_data`. */
export function transactionId(rawData: Uint8Array): Buffer {
  return createHash("sha256").update(rawData).digest();
}

/** The signed transaction, ready for broadcast. `signature` is r ‖ s ‖ recovery bit, 65 bytes; the bit is written as 27 or 28. */
export function serializeSigned(rawData: Uint8Array, signature: Uint8Array): Buffer {
  const recovery = signature[SIGNATURE_BYTES - 1];
  if (signature.length !== SIGNATURE_BYTES || (recovery !== 0 && recovery !== 1)) {
    throw new RangeError("a signature has 64 bytes and a recovery bit");
  }
  const written = Uint8Array.from(signature).with(SIGNATURE_BYTES - 1, RECOVERY_OFFSET + recovery);
  return Buffer.concat([encodeField(RAW_DATA_FIELD, rawData), encodeField(SIGNATURE_FIELD, written)]);
}

export function tronFacts(transaction: TronTransaction): TronFacts {
  return {
    ref_block_bytes: toHex(transaction.refBlockBytes),
    ref_block_hash: toHex(transaction.refBlockHash),
    expiration: transaction.expiration,
    timestamp: transaction.timestamp,
    data: toHex(transaction.data),
    fee_limit: transaction.feeLimit,
    contract: [{ ...transaction.contract, permission_id: transaction.permissionId }],
  };
}
