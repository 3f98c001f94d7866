import { type AbiType, decodeAbi, parseAbiType } from "../chains/evm/abi.ts";
import readMany from "../chains/evm/artifacts/ReadMany.json" with { type: "json" };
import { type ContractCall, encodeCalls } from "../chains/evm/call-data.ts";
import type { EvmChain } from "../chains/evm/networks.ts";
import { bytesFromHex } from "../kernel/bytes.ts";
import type { EvmNodes } from "./pool.ts";

/** Reads values of contracts, many at a time. */

/** Keeps the program below the size limits of creation code and of what it returns (EIP-3860, EIP-170), which nodes also apply to calls. */
const QUESTIONS_AT_ONCE = 64;

const ANSWERS = parseAbiType(
  { type: "tuple[]", components: [{ type: "bool" }, { type: "bytes" }] },
  "answers",
  (place, reason) => {
    throw new Error(`${place} ${reason}`);
  },
) as AbiType;

/**
 * The contracts' answers in the order of the calls: 0x hex, '0x' if there is no contract, undefined if the call fails. Answers that fit
 * into one call are of the same block. Each has at most 160 bytes.
 *
 * @throws KeysteadError CHAIN_UNAVAILABLE
 */
export async function readContracts(
  evm: EvmNodes,
  chain: EvmChain,
  questions: readonly ContractCall[],
  at: "latest" | string = "latest",
): Promise<(string | undefined)[]> {
  const answers: (string | undefined)[] = [];
  for (let start = 0; start < questions.length; start += QUESTIONS_AT_ONCE) {
    answers.push(...(await readPart(evm, chain, questions.slice(start, start + QUESTIONS_AT_ONCE), at)));
  }
  return answers;
}

/** A node's errors about a call that takes more gas than the node allows for any. */
const TAKES_TOO_MUCH = /out ?of ?gas|gas required exceeds/i;

/**
 * Reads in one call, or in halves if the call takes too much gas, so that a contract that uses up all gas does not spoil the answers of
 * others.
 */
async function readPart(
  evm: EvmNodes,
  chain: EvmChain,
  questions: readonly ContractCall[],
  at: string,
): Promise<(string | undefined)[]> {
  const count = questions.length;
  const answers = await evm.call<(string | undefined)[] | "too much">(chain, {
    method: "eth_call",
    params: [{ data: `${readMany.creationCode}${encodeCalls(questions)}` }, at],
    read: (answer) => {
      if ("result" in answer) return answersIn(answer.result, count);
      return count > 1 && TAKES_TOO_MUCH.test(answer.error.message) ? "too much" : undefined;
    },
  });
  if (answers !== "too much") return answers;
  const middle = Math.ceil(count / 2);
  const first = await readPart(evm, chain, questions.slice(0, middle), at);
  return [...first, ...(await readPart(evm, chain, questions.slice(middle), at))];
}

function answersIn(result: unknown, count: number): (string | undefined)[] | undefined {
  const bytes = typeof result === "string" && result.startsWith("0x") ? bytesFromHex(result.slice(2)) : undefined;
  const [list] = (bytes && decodeAbi([ANSWERS], bytes)) ?? [];
  if (!Array.isArray(list) || list.length !== count) return undefined;
  return (list as [boolean, string][]).map(([isGood, data]) => (isGood ? data : undefined));
}

/** The number in an answer of one word. Undefined for any other answer. */
export const wordIn = (answer: string | undefined): bigint | undefined =>
  answer?.length === 66 ? BigInt(answer) : undefined;

/** The address in an answer of one word, lowercase. Undefined for any other answer, and for the zero address. */
export function addressIn(answer: string | undefined): string | undefined {
  const value = wordIn(answer);
  if (value === undefined || value === 0n || value >> 160n !== 0n) return undefined;
  return `0x${value.toString(16).padStart(40, "0")}`;
}
