import { keccak_256 } from "@noble/hashes/sha3.js";
import { toHex } from "../../kernel/bytes.ts";
import { decodeAbi, parseAbiType } from "./abi.ts";
import GasStation from "./artifacts/GasStation.json" with { type: "json" };
import { words } from "./call-data.ts";
import { create2Address, DEPLOYMENT_PROXY } from "./create2.ts";
import { refusalOf } from "./payload.ts";

/** The contract of `contracts/GasStation.sol`: where it is, what it is called with, and what accounts sign for it. */

/** A call of a batch: addresses and data lowercase 0x hex. */
export interface BatchedCall {
  to: string;
  value: bigint;
  data: string;
}

/** What an account signs: calls that `payer` may have executed once, until `deadline` in seconds since 1970. */
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

/** How it is deployed; everybody who does so makes the same contract at the same address. */
export const GAS_STATION = {
  salt: `0x${"00".repeat(32)}`,
  initCode: GasStation.creationCode,
} as const;
export const GAS_STATION_ADDRESS = create2Address({ factory: DEPLOYMENT_PROXY, ...GAS_STATION });

/** The code of an account that has delegated (EIP-7702, "Delegation Indicator"). */
const DELEGATION = "0xef0100";

/** The contract whose code an account runs, by its own code; undefined for one that has none, or its own. */
export const delegateIn = (code: string): string | undefined =>
  code.length === DELEGATION.length + 40 && code.startsWith(DELEGATION) ? `0x${code.slice(8)}` : undefined;

/** Where an account's storage has the nonce of its next execution (ERC-7201, "keystead.gas-station"). */
export const NONCE_SLOT = namespaceSlot("keystead.gas-station");

/**
 * Code that executes a batch of an account in a trial: it stands in for the station's at an account that has not delegated to it. It has
 * no address of a station in it, which a batch does not ask for.
 */
export const TRIAL_CODE = GasStation.runtimeCode;

/** What the station is called with by who pays. `signature`: r, s and v of the account over `executionDigest`, 0x hex. */
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

/** The account's nonce in what `sponsorData` made. */
export const nonceInSponsorData = (data: string): bigint => {
  const words = data.slice(selector(SPONSOR).length);
  return BigInt(`0x${words.slice(64, 128)}`);
};

/** What an account calls itself with. */
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

/** Which call of a batch reverted, and with what; undefined for bytes that are no such error. */
export function callReverted(data: string): { index: number; reason: string } | undefined {
  if (!data.startsWith(selector("CallReverted(uint256,bytes)"))) return undefined;
  const [index, reason] = decodeAbi(REVERTED, hex(data.slice(10))) ?? [];
  if (typeof index !== "bigint" || typeof reason !== "string" || index >= BigInt(Number.MAX_SAFE_INTEGER)) {
    return undefined;
  }
  return { index: Number(index), reason };
}
const REVERTED = ["uint256", "bytes"].map((type) => parseAbiType({ type }, "it", refusalOf("it", "JSON ABI")));

/** Why the station itself refuses an execution; its interface has the names. */
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
