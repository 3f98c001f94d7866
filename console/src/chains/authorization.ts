import { MAX_PAYLOAD_LENGTH } from "../../../src/kernel/limits.ts";
import { addressOf, checksummed } from "./evm-transaction.ts";
import { bytesIn, integerOf, listOf, NotRlp, unlessNotRlp } from "./rlp.ts";

/** Authorizations of EIP-7702, by which a contract's code becomes that of an account. Nothing is decided by what stands here. */

export interface Authorization {
  /** Of the contract, with its checksum. */
  address: string;
  /** In decimals; 0 is every chain. */
  chainId: string;
  nonce: string;
}

const ADDRESS = /^0x[0-9a-f]{40}$/i;
const INTEGER = /^(0|[1-9][0-9]{0,77}|0x[0-9a-f]{1,64})$/i;

/** Undefined of whatever is not the JSON that the server takes. */
export function readAuthorization(json: string): Authorization | undefined {
  if (json.length > MAX_PAYLOAD_LENGTH) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    return undefined;
  }
  const { address, chainId, nonce } = (value ?? {}) as Record<string, unknown>;
  const [chain, count] = [integerIn(chainId, 256), integerIn(nonce, 64)];
  const isAddress = typeof address === "string" && ADDRESS.test(address);
  if (!isAddress || chain === undefined || count === undefined) return undefined;
  return { address: checksummed(address.slice(2).toLowerCase()), chainId: chain, nonce: count };
}

/** In decimals; undefined of what is no integer from 0 on of so many bits. */
function integerIn(value: unknown, bits: number): string | undefined {
  const isWritten = typeof value === "string" && INTEGER.test(value);
  if (!isWritten && !Number.isSafeInteger(value)) return undefined;
  const integer = BigInt(value as string | number);
  return BigInt.asUintN(bits, integer) === integer ? integer.toString() : undefined;
}

const MAGIC = 0x05;
const MEMBERS = 3;

/** The authorization that these bytes are hashed for; undefined where they are none. */
export function authorizationIn(bytes: Uint8Array): Authorization | undefined {
  if (bytes[0] !== MAGIC) return undefined;
  return unlessNotRlp(() => {
    const items = listOf(bytes.subarray(1));
    const [chainId, contract, nonce] = items;
    const address = addressOf(bytesIn(contract));
    if (items.length !== MEMBERS || address === undefined) throw new NotRlp();
    return { address, chainId: integerOf(bytesIn(chainId)), nonce: integerOf(bytesIn(nonce)) };
  });
}
