import { keccak_256 } from "@noble/hashes/sha3.js";
import { toHex } from "../../kernel/bytes.ts";
import { decodeAbi, parseAbiType } from "./abi.ts";
import GasStation from "./artifacts/GasStation.json" with { type: "json" };
import { words } from "./call-data.ts";
import { create2Address, DEPLOYMENT_PROXY } from "./create2.ts";
import { refusalOf } from "./payload.ts";

/** The contract of `contracts/GasStation.sol`: its address, its call data, and what accounts sign for it. */

/** A call in a batch: addresses and data are lowercase 0x hex. */
export interface BatchedCall {
  to: string;
  value: bigint;
  data: string;
}

/** What an account signs: calls that `payer` may execute once, until `deadline` in seconds since 1970. */
export interface Execution {
  payer: string;
  nonce: bigint;
  deadline: bigint;
  calls: readonly BatchedCall[];
}

const text = (value: string): Buffer => Buffer.from(value, "utf8");
const hex = (digits: string): Buffer => Buffer.from(digits, "hex");
const hash = (...parts: readonly Buffer[]): Buffer => Buffer.from(keccak_256(Buffer.concat(parts)));
const selector = (signature: string): string => `0x${toHex(hash(text(signature)).subarray(0, 4))}`;

/** How it is deployed; every deployment creates the same contract at the same address. */
export const GAS_STATION = {
  salt: `0x${"00".repeat(32)}`,
  initCode: GasStation.creationCode,
} as const;
export const GAS_STATION_ADDRESS = create2Address({ factory: DEPLOYMENT_PROXY, ...GAS_STATION });

/** The prefix of a delegated account's code (EIP-7702, "Delegation Indicator"). */
const DELEGATION = "0xef0100";

/** The contract that an account delegates to, according to its code; undefined if it has no code, or code of its own. */
export const delegateIn = (code: string): string | undefined =>
  code.length === DELEGATION.length + 40 && code.startsWith(DELEGATION) ? `0x${code.slice(8)}` : undefined;

/** The storage slot of an account with the nonce of its next execution (ERC-7201, "keystead.gas-station"). */
export const NONCE_SLOT = namespaceSlot("keystead.gas-station");

/**
 * Code for simulating a batch of an account that has not delegated to the station: it replaces the station's code there. It contains no
 * station address, which executing a batch does not need.
 */
export const TRIAL_CODE = GasStation.runtimeCode;

/** The call data with which the payer calls the station. `signature`: the account's r, s and v over `executionDigest`, 0x hex. */
export const sponsorData = (
  account: string,
  { nonce, deadline, calls }: Omit<Execution, "payer">,
  signature: string,
): string => {
  const encodedCalls = encodeCalls(calls);
  const head = words(account, nonce, deadline, 5 * 32, 5 * 32 + encodedCalls.length / 2);
  return `${selector(SPONSOR)}${head}${encodedCalls}${encodeBytes(signature)}`;
};
const SPONSOR = "sponsor(address,uint256,uint256,(address,uint256,bytes)[],bytes)";

/** The account's nonce in the result of `sponsorData`. */
export const nonceInSponsorData = (data: string): bigint => {
  const words = data.slice(selector(SPONSOR).length);
  return BigInt(`0x${words.slice(64, 128)}`);
};

/** The call data with which an account calls itself. */
export const batchData = (calls: readonly BatchedCall[]): string =>
  `${selector("executeBatch((address,uint256,bytes)[])")}${words(32)}${encodeCalls(calls)}`;

/** The 32 bytes that an account signs (EIP-712). */
export function executionDigest(
  chainId: bigint,
  account: string,
  { payer, nonce, deadline, calls }: Execution,
): Buffer {
  const domain = hash(
    hash(text("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)")),
    hash(text("Keystead Gas Station")),
    hash(text("1")),
    hex(words(chainId, account)),
  );
  const callType = "Call(address to,uint256 value,bytes data)";
  const hashes = calls.map(({ to, value, data }) =>
    hash(hash(text(callType)), hex(words(to, value)), hash(hex(data.slice(2)))),
  );
  const execution = hash(
    hash(text(`Execution(address payer,uint256 nonce,uint256 deadline,Call[] calls)${callType}`)),
    hex(words(payer, nonce, deadline)),
    hash(...hashes),
  );
  return hash(Buffer.of(0x19, 0x01), domain, execution);
}

/** The call of a batch that reverted, and its reason; undefined if the bytes are not such an error. */
export function callReverted(data: string): { index: number; reason: string } | undefined {
  if (!data.startsWith(selector("CallReverted(uint256,bytes)"))) return undefined;
  const [index, reason] = decodeAbi(REVERTED, hex(data.slice(10))) ?? [];
  if (typeof index !== "bigint" || typeof reason !== "string" || index >= BigInt(Number.MAX_SAFE_INTEGER)) {
    return undefined;
  }
  return { index: Number(index), reason };
}
const REVERTED = ["uint256", "bytes"].map((type) => parseAbiType({ type }, "it", refusalOf("it", "JSON ABI")));

/** The station's errors for rejecting an execution; the interface has their names. */
export const GAS_STATION_INTERFACE = JSON.stringify(GasStation.abi);

function encodeCalls(calls: readonly BatchedCall[]): string {
  const encoded = calls.map(({ to, value, data }) => `${words(to, value, 3 * 32)}${encodeBytes(data)}`);
  let offset = calls.length * 32;
  const offsets = encoded.map((one) => {
    const at = offset;
    offset += one.length / 2;
    return at;
  });
  return `${words(calls.length, ...offsets)}${encoded.join("")}`;
}

function encodeBytes(data: string): string {
  const digits = data.slice(2);
  return `${words(digits.length / 2)}${digits}${"0".repeat((64 - (digits.length % 64)) % 64)}`;
}

/** ERC-7201: `keccak256(abi.encode(uint256(keccak256(id)) - 1)) & ~0xff`. */
function namespaceSlot(id: string): string {
  const number = BigInt(`0x${toHex(hash(text(id)))}`) - 1n;
  return `0x${toHex(hash(hex(words(number)))).slice(0, 62)}00`;
}
