import rehearsal from "../chains/evm/artifacts/Rehearsal.json" with { type: "json" };
import { type ContractCall, callData, encodeCalls } from "../chains/evm/call-data.ts";
import type { EvmChain } from "../chains/evm/networks.ts";
import {
  KEPT_FEES_MS,
  KEPT_NEWEST_BLOCK_MS,
  MAX_BLOCK_ANSWER_BYTES,
  MAX_NODE_ANSWER_BYTES,
  MAX_REVERT_BYTES,
} from "../kernel/limits.ts";
import { sharedAnswer } from "../kernel/shared-answer.ts";
import { rollupFeesIn } from "./evm-rollup-fees.ts";
import { addressIn, hashIn, membersOf } from "./hex-values.ts";
import { type RpcError, resultOf } from "./json-rpc.ts";
import type { EvmNodes } from "./pool.ts";

/**
 * Calls to nodes of Ethereum chains about accounts, fees and transactions. An answer that does not have the call's shape does not count,
 * and the next node is called. All functions throw CHAIN_UNAVAILABLE if no node answers.
 */

/** Current transaction fees, in wei per gas. */
export interface FeeQuote {
  baseFee: bigint;
  /** The priority fee that the node suggests for the block's producer. */
  tip: bigint;
}

/** A call as nodes accept it. Quantities are bigints; addresses and data are 0x hex. */
export interface EvmCall {
  from: string;
  to: string;
  value: bigint;
  data: string;
  gas?: bigint;
}

/** Why a call fails. `data` is its revert data in 0x hex, '0x' if the node does not report it. */
export interface Revert {
  message: string;
  data: string;
}

export interface Receipt {
  blockNumber: number;
  isSuccess: boolean;
  /** In wei, including what rollups charge in addition. Undefined if the node does not report it. */
  fee?: bigint;
}

/** EIP-1474 and what clients made of it: execution failed, with data. */
const REVERTED = 3;
/** Other errors about an execution that would fail. All remaining errors are problems of the node itself. */
const FAILS =
  /revert|insufficient (funds|balance)|gas required exceeds|out ?of ?gas|intrinsic gas|invalid ?(fe)?opcode|execution/i;
/** Faults of the EVM, in the messages of Geth, Nethermind, Besu, Reth and Anvil. */
const FAULTS =
  /invalid code:|invalid ?jump|(bad|unknown) ?(instruction|opcode)|opcode ?not ?found|stack ?(under|over|limit)|write protection|access ?violation|return ?data ?out ?of ?bounds|out ?of ?offset|(code|initcode) size|call ?depth|gas uint64 overflow/i;

/** Shared among all callers for a short time, because the caller of an activity that is being planned has not been authorized yet. */
export const feeQuote = askedOnce(fetchQuote, KEPT_FEES_MS);

/** Shares the answers about each chain of each pool of nodes, while the call is in flight and for this many milliseconds. */
function askedOnce<T>(ask: (nodes: EvmNodes, chain: EvmChain) => Promise<T>, keptMs: number) {
  const answers = new WeakMap<EvmNodes, Map<EvmChain, () => Promise<T>>>();
  return (nodes: EvmNodes, chain: EvmChain): Promise<T> => {
    const ofChains = answers.get(nodes) ?? new Map<EvmChain, () => Promise<T>>();
    answers.set(nodes, ofChains);
    const ofChain = ofChains.get(chain) ?? sharedAnswer(() => ask(nodes, chain), keptMs);
    ofChains.set(chain, ofChain);
    return ofChain();
  };
}

async function fetchQuote(nodes: EvmNodes, chain: EvmChain): Promise<FeeQuote> {
  const [baseFee, tip] = await Promise.all([
    nodes.call(chain, {
      method: "eth_getBlockByNumber",
      params: ["latest", false],
      read: (answer) => quantityOf(memberOf(resultOf(answer), "baseFeePerGas")),
    }),
    nodes.call(chain, {
      method: "eth_maxPriorityFeePerGas",
      params: [],
      read: (answer) => quantityOf(resultOf(answer)),
    }),
  ]);
  return { baseFee, tip };
}

/**
 * The gas that a call takes after all pending transactions, or why it would revert.
 *
 * @param codes replaces the code of these addresses
 */
export const estimateGas = (
  nodes: EvmNodes,
  chain: EvmChain,
  call: EvmCall,
  codes?: Readonly<Record<string, string>>,
): Promise<{ gas: bigint } | { revert: Revert }> =>
  nodes.call<{ gas: bigint } | { revert: Revert }>(chain, {
    method: "eth_estimateGas",
    params: [callObject(call), "pending", ...(codes ? [overrides(codes)] : [])],
    ...runsContracts,
    read: (answer) => {
      if ("error" in answer) return revertIn(answer.error);
      const gas = quantityOf(answer.result);
      return gas === undefined ? undefined : { gas };
    },
  });

/** The caller if there is no account, for calls in which the caller plays no role. */
const NOBODY = `0x${"00".repeat(20)}`;
const REHEARSE = callData("rehearse((address,bytes)[])");

/**
 * The gas that an account's calls take one after the other, or why one of them would revert. The node treats a contract that makes all of
 * them as the account's code.
 *
 * @throws KeysteadError CHAIN_UNAVAILABLE, also if no node can replace an account's code
 */
export const estimateRehearsed = (
  nodes: EvmNodes,
  chain: EvmChain,
  account: string,
  calls: readonly ContractCall[],
): Promise<{ gas: bigint } | { revert: Revert }> =>
  estimateGas(
    nodes,
    chain,
    { from: NOBODY, to: account, value: 0n, data: `${REHEARSE}${encodeCalls(calls)}` },
    { [account]: rehearsal.runtimeCode },
  );

/** Why a call reverts on top of a block. Undefined if it does not. */
export const revertOf = (
  nodes: EvmNodes,
  chain: EvmChain,
  call: EvmCall,
  blockNumber: number,
): Promise<Revert | undefined> =>
  nodes
    .call<{ revert?: Revert }>(chain, {
      method: "eth_call",
      params: [callObject(call), quantity(BigInt(blockNumber))],
      ...runsContracts,
      read: (answer) => ("error" in answer ? revertIn(answer.error) : {}),
    })
    .then(({ revert }) => revert);

/** A contract may take long, and may revert with more data than anybody reads. Neither is the node's fault. */
const runsContracts = {
  maxAnswerBytes: MAX_NODE_ANSWER_BYTES,
  readTooLarge: () => ({ revert: { message: "execution reverted", data: "0x" } }),
};

function revertIn({ code, message, data }: RpcError): { revert: Revert } | undefined {
  if (code !== REVERTED && !FAILS.test(message) && !FAULTS.test(message)) return undefined;
  // Some clients wrap the data in an object.
  const bytes = typeof data === "string" ? data : memberOf(data, "data");
  const isHex = typeof bytes === "string" && /^0x([0-9a-f]{2})*$/i.test(bytes);
  return { revert: { message, data: isHex ? bytes.slice(0, 2 + 2 * MAX_REVERT_BYTES).toLowerCase() : "0x" } };
}

/** The number of an account's transactions, which is its next nonce: as of the newest block, as of a given block, or with pending ones. */
export const transactionCount = (
  nodes: EvmNodes,
  chain: EvmChain,
  address: string,
  at: "latest" | "pending" | number,
): Promise<number> =>
  nodes.call(chain, {
    method: "eth_getTransactionCount",
    params: [address, typeof at === "number" ? quantity(BigInt(at)) : at],
    read: (answer) => numberOf(resultOf(answer)),
  });

export const newestBlock = (nodes: EvmNodes, chain: EvmChain): Promise<number> =>
  nodes.call(chain, { method: "eth_blockNumber", params: [], read: (answer) => numberOf(resultOf(answer)) });

/** As `newestBlock`, but shared among all who follow transactions, so it may be some milliseconds old. */
export const recentBlock = askedOnce(newestBlock, KEPT_NEWEST_BLOCK_MS);

/** The receipt of a transaction in a block. Undefined if no block contains it. */
export async function receiptOf(nodes: EvmNodes, chain: EvmChain, hash: string): Promise<Receipt | undefined> {
  const { receipt } = await nodes.call<{ receipt?: Receipt | "large" }>(chain, {
    method: "eth_getTransactionReceipt",
    params: [hash],
    maxAnswerBytes: MAX_BLOCK_ANSWER_BYTES,
    readTooLarge: () => ({ receipt: "large" }),
    read: (answer) => {
      if (!("result" in answer)) return undefined;
      if (answer.result === null) return {};
      const blockNumber = numberOf(memberOf(answer.result, "blockNumber"));
      const status = quantityOf(memberOf(answer.result, "status"));
      const isOurs = hashIn(memberOf(answer.result, "transactionHash")) === hash;
      if (blockNumber === undefined || status === undefined || !isOurs) return undefined;
      const fee = feeIn(answer.result);
      return { receipt: { blockNumber, isSuccess: status === 1n, ...(fee === undefined ? {} : { fee }) } };
    },
  });
  if (receipt !== "large") return receipt;
  // Only logs make a receipt so large, and a failed transaction has no logs.
  const blockNumber = await blockNumberOf(nodes, chain, hash);
  return blockNumber === undefined ? undefined : { blockNumber, isSuccess: true };
}

function feeIn(receipt: unknown): bigint | undefined {
  const gas = quantityOf(memberOf(receipt, "gasUsed"));
  const price = quantityOf(memberOf(receipt, "effectiveGasPrice"));
  if (gas === undefined || price === undefined) return undefined;
  return gas * price + rollupFeesIn(membersOf(receipt));
}

/** The number of the block that contains a transaction. */
const blockNumberOf = (nodes: EvmNodes, chain: EvmChain, hash: string): Promise<number | undefined> =>
  nodes
    .call<{ blockNumber?: number }>(chain, {
      method: "eth_getTransactionByHash",
      params: [hash],
      read: (answer) => {
        if (!("result" in answer)) return undefined;
        const blockNumber = numberOf(memberOf(answer.result, "blockNumber"));
        return blockNumber === undefined ? {} : { blockNumber };
      },
    })
    .then(({ blockNumber }) => blockNumber);

/**
 * Finds the account's transaction with this nonce, by locating its block. Neither the word of a lagging node nor a missing receipt would
 * prove anything. Undefined if the blocks in this range do not contain it.
 */
export async function transactionWithNonce(
  nodes: EvmNodes,
  chain: EvmChain,
  { address, nonce }: { address: string; nonce: number },
  { from, to }: { from: number; to: number },
): Promise<(MinedTransaction & { blockNumber: number }) | undefined> {
  let [before, after] = [from, to];
  if ((await transactionCount(nodes, chain, address, before)) > nonce) return undefined;
  if ((await transactionCount(nodes, chain, address, after)) <= nonce) return undefined;
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2);
    if ((await transactionCount(nodes, chain, address, middle)) > nonce) after = middle;
    else before = middle;
  }
  const mined = await transactionInBlock(nodes, chain, after, { address, nonce });
  return mined && { ...mined, blockNumber: after };
}

/** A transaction in a block. Members that the node does not report are undefined. */
export interface MinedTransaction {
  hash: string;
  to: string | undefined;
  value: bigint | undefined;
  /** In 0x hex. */
  data: string | undefined;
}

const transactionInBlock = (
  nodes: EvmNodes,
  chain: EvmChain,
  blockNumber: number,
  { address, nonce }: { address: string; nonce: number },
): Promise<MinedTransaction | undefined> =>
  nodes
    .call<{ mined?: MinedTransaction }>(chain, {
      method: "eth_getBlockByNumber",
      params: [quantity(BigInt(blockNumber)), true],
      maxAnswerBytes: MAX_BLOCK_ANSWER_BYTES,
      readTooLarge: () => ({}),
      read: (answer) => {
        const transactions = memberOf(resultOf(answer), "transactions");
        if (!Array.isArray(transactions)) return undefined;
        const found = transactions.find(
          (one) => addressIn(memberOf(one, "from")) === address && numberOf(memberOf(one, "nonce")) === nonce,
        );
        const { hash: sentHash, to, value, input } = membersOf(found);
        const hash = hashIn(sentHash);
        if (hash === undefined) return {};
        const data = typeof input === "string" ? input.toLowerCase() : undefined;
        return { mined: { hash, to: addressIn(to), value: quantityOf(value), data } };
      },
    })
    .then(({ mined }) => mined);

const overrides = (codes: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(codes).map(([address, code]) => [address, { code }]));

const callObject = ({ from, to, value, data, gas }: EvmCall) => ({
  from,
  to,
  value: quantity(value),
  data,
  ...(gas === undefined ? {} : { gas: quantity(gas) }),
});

/** A quantity in the format of Ethereum's JSON-RPC. */
const quantity = (value: bigint): string => `0x${value.toString(16)}`;

const quantityOf = (value: unknown): bigint | undefined =>
  typeof value === "string" && /^0x[0-9a-f]{1,64}$/i.test(value) ? BigInt(value) : undefined;

function numberOf(value: unknown): number | undefined {
  const read = quantityOf(value);
  return read !== undefined && read <= Number.MAX_SAFE_INTEGER ? Number(read) : undefined;
}

const memberOf = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;
