import { keccak_256 } from "@noble/hashes/sha3.js";
import { parsePayload, type Refuse, readAddress, readInteger, refusalOf } from "./payload.ts";
import { encodeRlp, rlpInteger } from "./rlp.ts";

/** An EIP-7702 authorization before it is signed. */
export type Authorization = {
  /** The contract whose code the signer adopts, lowercase 0x hex; the zero address removes the code. */
  readonly address: string;
  /** 0 means every chain. */
  readonly chainId: bigint;
  readonly nonce: bigint;
};

/** Distinguishes an authorization from every transaction type (EIP-7702, "Parameters"). */
const MAGIC = 0x05;

/**
 * Parses the JSON text of an EIP-7702 authorization `{address, chainId, nonce}`. Other keys are not signed and are ignored. `field` names
 * the request's field in errors.
 *
 * @throws KeysteadError FIELD_INVALID
 */
export function parseAuthorization(json: string, field: string): Authorization {
  const refuse = refusalOf(field, "EIP-7702 authorization");
  const { address, chainId, nonce } = parsePayload(json, refuse);
  return {
    address: readAddress(address, "address", refuse),
    chainId: readUnsigned(256, chainId, "chainId", refuse),
    nonce: readUnsigned(64, nonce, "nonce", refuse),
  };
}

function readUnsigned(bits: number, value: unknown, place: string, refuse: Refuse): bigint {
  const integer = readInteger(value, place, refuse);
  return BigInt.asUintN(bits, integer) === integer ? integer : refuse(place, `must be from 0 to 2^${bits} - 1`);
}

/** The 32 bytes to sign: `keccak256(0x05 ‖ rlp([chainId, address, nonce]))` (EIP-7702, "Set code transaction"). */
export function hashAuthorization({ address, chainId, nonce }: Authorization): Buffer {
  const fields = [rlpInteger(chainId), Buffer.from(address.slice(2), "hex"), rlpInteger(nonce)];
  return Buffer.from(keccak_256(Buffer.concat([Buffer.of(MAGIC), encodeRlp(fields)])));
}
