import { MAX_PAYLOAD_LENGTH } from "../../../src/kernel/limits.ts";
import { addressOf } from "./evm-transaction.ts";
import { bytesIn, integerOf, listOf, NotRlp, unlessNotRlp } from "./rlp.ts";
import { writtenAddress, writtenInteger } from "./written-values.ts";

/** Authorizations of EIP-7702, by which a contract's code becomes that of an account. Nothing is decided by what stands here. */

export interface Authorization {
  /** Of the contract, with its checksum. */
  address: string;
  /** In decimals; 0 is every chain. */
  chainId: string;
  nonce: string;
}

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
  const contract = writtenAddress(address);
  const [chain, count] = [unsignedIn(chainId, 256), unsignedIn(nonce, 64)];
  if (contract === undefined || chain === undefined || count === undefined) return undefined;
  return { address: contract, chainId: chain, nonce: count };
}

/** In decimals; undefined of what is no integer from 0 on of so many bits. */
function unsignedIn(value: unknown, bits: number): string | undefined {
  const integer = writtenInteger(value);
  return integer !== undefined && BigInt.asUintN(bits, integer) === integer ? integer.toString() : undefined;
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
