import type { EvmChain } from "../chains/evm/networks.ts";
import { integerIn } from "./hex-values.ts";
import type { EvmNodes } from "./pool.ts";

/** Reads an account's state from nodes. */

/**
 * The nonce of an account's next transaction, counting pending ones.
 *
 * @throws KeysteadError CHAIN_UNAVAILABLE
 */
export function pendingNonce(evm: EvmNodes, chain: EvmChain, address: string): Promise<bigint> {
  return evm.call(chain, {
    method: "eth_getTransactionCount",
    params: [address, "pending"],
    read: (answer) => ("result" in answer ? integerIn(answer.result) : undefined),
  });
}

/** The current code at an address, in lowercase 0x hex. '0x' if there is none. */
export const codeAt = (evm: EvmNodes, chain: EvmChain, address: string): Promise<string> =>
  evm.call(chain, {
    method: "eth_getCode",
    params: [address, "latest"],
    read: (answer) => {
      const result = "result" in answer ? answer.result : undefined;
      return typeof result === "string" && /^0x([0-9a-f]{2})*$/i.test(result) ? result.toLowerCase() : undefined;
    },
  });

/** The current value of a slot in an account's storage. */
export const storageAt = (evm: EvmNodes, chain: EvmChain, address: string, slot: string): Promise<bigint> =>
  evm.call(chain, {
    method: "eth_getStorageAt",
    params: [address, slot, "latest"],
    read: (answer) => ("result" in answer ? integerIn(answer.result) : undefined),
  });

/** Enough for any token's view function of a balance. A token that takes more counts as having none. */
const GAS_OF_ONE_TOKEN = 500_000;

/**
 * Balances of the native asset (null) and of tokens (by contract), in the requested order, all as of the newest block. 0 for an address
 * that is not a token.
 *
 * @throws KeysteadError CHAIN_UNAVAILABLE
 */
export async function balancesOf(
  evm: EvmNodes,
  chain: EvmChain,
  address: string,
  tokens: readonly (string | null)[],
): Promise<bigint[]> {
  if (tokens.length === 0) return [];
  const length = 2 + 64 * tokens.length;
  return evm.call(chain, {
    method: "eth_call",
    params: [{ data: balanceProgram(address, tokens) }, "latest"],
    read: (answer) => {
      const result = "result" in answer ? answer.result : undefined;
      if (typeof result !== "string" || result.length !== length || !/^0x[0-9a-f]*$/i.test(result)) return undefined;
      return tokens.map((_, index) => BigInt(`0x${result.slice(2 + index * 64, 66 + index * 64)}`));
    },
  });
}

/**
 * A program that no chain ever stores: the creation code of a contract, which calls each token for the balance and returns all of them.
 * Every node runs it in one call, without any deployed contract. Memory: the calldata in the first two words, then one word for each
 * answer.
 */
function balanceProgram(address: string, tokens: readonly (string | null)[]): string {
  const account = address.slice(2).toLowerCase();
  const question = `6370a0823160e01b60005273${account}600452`;
  const answers = tokens.map((token, index) => {
    const place = word16(ANSWERS + 32 * index);
    if (token === null) return `73${account}31${place}52`;
    // STATICCALL(gas, token, 0, 36, place, 32). Its result counts only if it succeeded with a whole word: whatever a failed call left there
    // is multiplied by 0.
    const call = `6020${place}6024600073${token.slice(2).toLowerCase()}62${hex(GAS_OF_ONE_TOKEN, 6)}fa`;
    return `${call}601f3d1116${place}5102${place}52`;
  });
  return `0x${question}${answers.join("")}${word16(32 * tokens.length)}${word16(ANSWERS)}f3`;
}

const ANSWERS = 0x40;
const hex = (number: number, digits: number): string => number.toString(16).padStart(digits, "0");
/** PUSH2. */
const word16 = (number: number): string => `61${hex(number, 4)}`;
