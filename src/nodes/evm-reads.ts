import { type AbiType, decodeAbi, parseAbiType } from "../chains/evm/abi.ts";
import readMany from "../chains/evm/artifacts/ReadMany.json" with { type: "json" };
import { type ContractCall, encodeCalls } from "../chains/evm/call-data.ts";
import type { EvmChain } from "../chains/evm/networks.ts";
import { bytesFromHex } from "../kernel/bytes.ts";
import type { EvmNodes } from "./pool.ts";

/** Values of contracts, read many at a time. */

/** Few enough for the bounds of creation code and of what it leaves (EIP-3860, EIP-170), by which nodes go in calls too. */
const QUESTIONS_AT_ONCE = 64;

const ANSWERS = parseAbiType(
  { type: "tuple[]", components: [{ type: "bool" }, { type: "bytes" }] },
  "answers",
  (place, reason) => {
    throw new Error(`${place} ${reason}`);
  },
) as AbiType;

/**
 * What contracts answer, in the order asked: 0x hex, '0x' where there is no contract, undefined where the call fails. Answers are of one
 * block, as far as they fit into one call, and of at most 160 bytes.
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

/** What a node says of a call that takes more gas than it gives to any. */
const TAKES_TOO_MUCH = /out ?of ?gas|gas required exceeds/i;

/** Contracts that use up all the gas that they are given are asked few at a time, so that the others' answers are there. */
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

/** The number in an answer of one word; undefined for any other. */
export const wordIn = (answer: string | undefined): bigint | undefined =>
  answer?.length === 66 ? BigInt(answer) : undefined;

/** The address in an answer of one word, lowercase; undefined for any other, and for that of nobody. */
export function addressIn(answer: string | undefined): string | undefined {
  const value = wordIn(answer);
  if (value === undefined || value === 0n || value >> 160n !== 0n) return undefined;
  return `0x${value.toString(16).padStart(40, "0")}`;
}
