import type { EvmChain } from "../chains/evm/networks.ts";
import { MAX_NODE_ANSWER_BYTES, MAX_REVERT_BYTES, MAX_SWAP_LOGS } from "../kernel/limits.ts";
import type { Revert } from "./evm-calls.ts";
import { addressIn, hashIn, integerIn, isList, listIn, type Members, membersOf } from "./hex-values.ts";
import type { RpcAnswer } from "./json-rpc.ts";
import type { EvmNodes } from "./pool.ts";

/** Simulates calls one after the other on top of the newest block, with `eth_simulateV1`. */

/** A call without a fee. Addresses and data are 0x hex. */
export interface SimulatedCall {
  from: string;
  to: string;
  value?: bigint;
  data: string;
}

export interface SimulatedLog {
  address: string;
  topics: readonly string[];
  data: string;
}

export type Simulated = { answer: string; logs: readonly SimulatedLog[] } | { revert: Revert };

/** The address of logs that the node adds for transfers of the native asset (`traceTransfers`). */
export const NATIVE_LOGS = `0x${"ee".repeat(20)}`;

/** Errors of the whole simulation: the balance does not cover it. EIP-1474 has no code for that; the method's specification does. */
const FAILS = /insufficient funds|insufficient balance|intrinsic gas|gas limit|nonce/i;

/** Refused, because nobody could review the effects before agreeing to them. */
const TOO_MUCH = { revert: { message: "it does more than can be looked at", data: "0x" } };

/**
 * The result of each call, in order, or why none of them can be made. `codes` replaces the code of these addresses.
 *
 * @throws KeysteadError CHAIN_UNAVAILABLE, also if no node has the method
 */
export const simulate = (
  evm: EvmNodes,
  chain: EvmChain,
  calls: readonly SimulatedCall[],
  codes: Readonly<Record<string, string>> = {},
): Promise<Simulated[] | { revert: Revert }> =>
  evm.call<Simulated[] | { revert: Revert }>(chain, {
    method: "eth_simulateV1",
    params: [
      {
        blockStateCalls: [
          {
            stateOverrides: Object.fromEntries(Object.entries(codes).map(([address, code]) => [address, { code }])),
            calls: calls.map(({ from, to, value = 0n, data }) => ({
              from,
              to,
              value: `0x${value.toString(16)}`,
              data,
            })),
          },
        ],
        traceTransfers: true,
        validation: false,
      },
      "latest",
    ],
    maxAnswerBytes: MAX_NODE_ANSWER_BYTES,
    readTooLarge: () => TOO_MUCH,
    read: (answer, shown) => resultsIn(answer, calls.length, shown),
  });

function resultsIn(
  answer: RpcAnswer,
  count: number,
  shown: (text: string) => string,
): Simulated[] | { revert: Revert } | undefined {
  if ("error" in answer) {
    const { message } = answer.error;
    return FAILS.test(message) ? { revert: { message, data: "0x" } } : undefined;
  }
  const [block, ...others] = isList(answer.result) ? answer.result : [];
  const { calls } = membersOf(block);
  if (others.length > 0 || !isList(calls) || calls.length !== count) return undefined;
  if (calls.some(hasTooManyLogs)) return TOO_MUCH;
  return listIn(calls, (call) => simulatedIn(call, shown));
}

function hasTooManyLogs(call: unknown): boolean {
  const { logs } = membersOf(call);
  return isList(logs) && logs.length > MAX_SWAP_LOGS;
}

function simulatedIn(
  { status, returnData, logs, error }: Members,
  shown: (text: string) => string,
): Simulated | undefined {
  const answer = bytesIn(returnData);
  if (answer === undefined) return undefined;
  if (integerIn(status) !== 1n) {
    const { message, data } = membersOf(error);
    const reason = bytesIn(data) ?? answer;
    return {
      revert: {
        message: typeof message === "string" ? shown(message) : "execution reverted",
        data: reason.slice(0, 2 + 2 * MAX_REVERT_BYTES),
      },
    };
  }
  const all = isList(logs) ? listIn(logs, logIn) : undefined;
  return all && { answer, logs: all };
}

function logIn({ address: from, topics, data }: Members): SimulatedLog | undefined {
  const address = addressIn(from);
  const bytes = bytesIn(data);
  const hashes = isList(topics) ? topics.map(hashIn) : [undefined];
  if (address === undefined || bytes === undefined || hashes.some((topic) => topic === undefined)) return undefined;
  return { address, topics: hashes as string[], data: bytes };
}

const bytesIn = (value: unknown): string | undefined =>
  typeof value === "string" && /^0x([0-9a-f]{2})*$/i.test(value) ? value.toLowerCase() : undefined;
