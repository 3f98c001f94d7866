import type { EvmChain } from "../chains/evm/networks.ts";
import { KeysteadError } from "../kernel/errors.ts";
import { MAX_BLOCK_ANSWER_BYTES, MAX_BLOCK_CALLS, MAX_BLOCK_NUMBER, MAX_BLOCK_TIME } from "../kernel/limits.ts";
import { pause } from "../kernel/turns.ts";
import { rollupFeesIn } from "./evm-rollup-fees.ts";
import { internalTransfers, type Transfer } from "./evm-traces.ts";
import {
  addressIn,
  hashIn,
  hexOfNumber,
  integerIn,
  isList,
  listIn,
  type Members,
  membersOf,
  numberIn,
} from "./hex-values.ts";
import { AnswerTooLarge, resultOf } from "./json-rpc.ts";
import type { EvmNodes } from "./pool.ts";

/** Reads blocks, and checks that a node's answers are consistent: an incomplete block is refused. */

export interface BlockHeader {
  number: number;
  /** Lowercase 0x hex, like all hashes and addresses here. */
  hash: string;
  parentHash: string;
  /** In seconds. */
  timestamp: number;
}

export interface BlockTransaction {
  /** The index in the block. */
  index: number;
  hash: string;
  from: string;
  /** Null if it created a contract. */
  to: string | null;
  /** In atomic units of the native asset, or of `feeToken`. */
  fee: bigint;
  /** The token in which the fee was paid. Null for the native asset. */
  feeToken: string | null;
  failed: boolean;
  /** Empty if the transaction failed. */
  transfers: Transfer[];
}

export interface Block extends BlockHeader {
  transactions: BlockTransaction[];
  /** Whether a node reported transfers inside the transactions. Undefined if no node was asked. */
  isTraced: boolean | undefined;
}

/** `Transfer(address,address,uint256)`. ERC-721 has a fourth topic. */
const TRANSFER_TOPIC = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";
/** If receipts are requested one by one. */
const RECEIPTS_AT_ONCE = 2;
/** Blocks have fewer transactions than a position can number. */
const MAX_TRANSACTIONS = 1 << 20;

/**
 * The newest block.
 *
 * @throws KeysteadError CHAIN_UNAVAILABLE
 */
export async function latestHeader(evm: EvmNodes, chain: EvmChain): Promise<BlockHeader> {
  return evm.call(chain, {
    method: "eth_getBlockByNumber",
    params: ["latest", false],
    read: (answer) => headerIn(resultOf(answer)),
  });
}

/**
 * The block with this number. Undefined if no node has it.
 *
 * @throws KeysteadError CHAIN_UNAVAILABLE
 */
export async function headerAt(evm: EvmNodes, chain: EvmChain, number: number): Promise<BlockHeader | undefined> {
  const found = await evm.call(chain, {
    method: "eth_getBlockByNumber",
    params: [hexOfNumber(number), false],
    read: (answer) => {
      const result = resultOf(answer);
      if (result === null) return "none";
      const header = headerIn(result);
      return header?.number === number ? header : undefined;
    },
  });
  return found === "none" ? undefined : found;
}

/**
 * The block with this number and its transfers. Undefined if no node has it. With `traces`, transfers in calls inside transactions are
 * included if a node traces them.
 *
 * @throws KeysteadError CHAIN_UNAVAILABLE, also for an incomplete block; AnswerTooLarge
 */
export async function blockAt(
  evm: EvmNodes,
  chain: EvmChain,
  number: number,
  { traces }: { traces: boolean },
): Promise<Block | undefined> {
  const found = await evm.call(chain, {
    method: "eth_getBlockByNumber",
    params: [hexOfNumber(number), true],
    maxAnswerBytes: MAX_BLOCK_ANSWER_BYTES,
    read: (answer) => (resultOf(answer) === null ? "none" : sentIn(resultOf(answer), number)),
  });
  if (found === "none") return undefined;
  if (found.sent.length === 0 && found.gasUsed === 0n)
    return { ...found.header, transactions: [], isTraced: undefined };
  const [receipts, traced] = await Promise.all([
    receiptsOf(evm, chain, found),
    traces ? tracesOf(evm, chain, found) : undefined,
  ]);
  const transactions: BlockTransaction[] = [];
  for (const [index, sent] of found.sent.entries()) {
    await pause();
    const inside = traced?.get(sent.hash) ?? [];
    transactions.push(transactionOf(index, sent, receipts[index] as Receipt, inside));
  }
  return { ...found.header, transactions, isTraced: traces ? traced !== undefined : undefined };
}

/** A transaction as it was sent. */
interface Sent {
  hash: string;
  from: string;
  to: string | null;
  value: bigint;
  gasPrice: bigint;
}

interface SentBlock {
  header: BlockHeader;
  gasUsed: bigint;
  sent: Sent[];
}

/** The result of a transaction. */
interface Receipt {
  succeeded: boolean;
  contractAddress: string | null;
  fee: bigint;
  feeToken: string | null;
  tokenTransfers: Transfer[];
}

function transactionOf(index: number, sent: Sent, receipt: Receipt, inside: readonly Transfer[]): BlockTransaction {
  const { hash, from, to, value } = sent;
  const { succeeded, contractAddress, fee, feeToken, tokenTransfers } = receipt;
  const receiver = to ?? contractAddress;
  const own = value > 0n && receiver !== null ? [{ token: null, from, to: receiver, amount: value }] : [];
  const transfers = succeeded ? [...own, ...inside, ...tokenTransfers] : [];
  return { index, hash, from, to, fee, feeToken, failed: !succeeded, transfers };
}

function headerIn(value: unknown): BlockHeader | undefined {
  const block = membersOf(value);
  const number = numberIn(block.number);
  const timestamp = numberIn(block.timestamp);
  const hash = hashIn(block.hash);
  const parentHash = hashIn(block.parentHash);
  if (number === undefined || timestamp === undefined || !hash || !parentHash) return undefined;
  if (number > MAX_BLOCK_NUMBER || timestamp > MAX_BLOCK_TIME) return undefined;
  return { number, hash, parentHash, timestamp };
}

/** A block with its transactions, each at its index. */
function sentIn(value: unknown, number: number): SentBlock | undefined {
  const header = headerIn(value);
  const { transactions, gasUsed: used } = membersOf(value);
  const gasUsed = integerIn(used);
  if (header?.number !== number || gasUsed === undefined || !isList(transactions)) return undefined;
  if (transactions.length > MAX_TRANSACTIONS) return undefined;
  const sent = listIn(transactions, (one, index) => {
    const { blockHash, transactionIndex, hash: hashText, from: fromText, to: toText, value: valueText } = one;
    const hash = hashIn(hashText);
    const from = addressIn(fromText);
    const to = toText === null || toText === undefined ? null : addressIn(toText);
    const amount = valueText === undefined ? 0n : integerIn(valueText);
    const isInPlace = hashIn(blockHash) === header.hash && numberIn(transactionIndex) === index;
    if (!isInPlace || !hash || !from || to === undefined || amount === undefined) return undefined;
    return { hash, from, to, value: amount, gasPrice: integerIn(one.gasPrice) ?? 0n };
  });
  return sent && { header, gasUsed, sent };
}

/** One receipt per transaction. Their gas must add up to the block's. */
async function receiptsOf(evm: EvmNodes, chain: EvmChain, block: SentBlock): Promise<Receipt[]> {
  const receipts = await evm.call<Receipt[] | "too large">(chain, {
    method: "eth_getBlockReceipts",
    params: [hexOfNumber(block.header.number)],
    maxAnswerBytes: MAX_BLOCK_ANSWER_BYTES,
    readTooLarge: () => "too large",
    read: (answer) => receiptsIn(resultOf(answer), block),
  });
  return receipts === "too large" ? receiptsOneByOne(evm, chain, block) : receipts;
}

/** For a block with so many logs that they do not fit into one answer. Anybody who pays for it can fill a block. */
async function receiptsOneByOne(evm: EvmNodes, chain: EvmChain, { header, sent }: SentBlock): Promise<Receipt[]> {
  const receipts: Receipt[] = [];
  // Closed for all workers if one fails.
  const left = (function* () {
    yield* sent.entries();
  })();
  const worker = async () => {
    for (const [index, one] of left) {
      receipts[index] = await evm.call(chain, {
        method: "eth_getTransactionReceipt",
        params: [one.hash],
        maxAnswerBytes: MAX_BLOCK_ANSWER_BYTES,
        read: (answer) => {
          const members = membersOf(resultOf(answer));
          const isOurs = hashIn(members.blockHash) === header.hash && hashIn(members.transactionHash) === one.hash;
          return isOurs ? receiptIn(members, one.gasPrice) : undefined;
        },
      });
    }
  };
  await Promise.all(Array.from({ length: RECEIPTS_AT_ONCE }, worker));
  return receipts;
}

function receiptsIn(result: unknown, { header, gasUsed, sent }: SentBlock): Receipt[] | undefined {
  if (!isList(result) || result.length !== sent.length) return undefined;
  let most = 0n;
  const receipts = listIn(result, (one, index) => {
    const { hash, gasPrice } = sent[index] as Sent;
    if (hashIn(one.blockHash) !== header.hash || hashIn(one.transactionHash) !== hash) return undefined;
    const cumulative = integerIn(one.cumulativeGasUsed);
    if (cumulative === undefined) return undefined;
    if (cumulative > most) most = cumulative;
    return receiptIn(one, gasPrice);
  });
  return most === gasUsed ? receipts : undefined;
}

/** Tempo's gas prices are in 10^-18 US dollars, its tokens in 10^-6. */
const ATTODOLLARS_PER_UNIT = 10n ** 12n;

function receiptIn(one: Members, offeredGasPrice: bigint): Receipt | undefined {
  const gas = integerIn(one.gasUsed);
  const gasPrice = integerIn(one.effectiveGasPrice) ?? offeredGasPrice;
  if (gas === undefined || !isList(one.logs)) return undefined;
  const contractAddress = addressIn(one.contractAddress) ?? null;
  const feeToken = addressIn(one.feeToken) ?? null;
  const execution = gas * gasPrice;
  const more = rollupFeesIn(one) + blobFeeIn(one);
  const fee = feeToken === null ? execution + more : (execution + ATTODOLLARS_PER_UNIT - 1n) / ATTODOLLARS_PER_UNIT;
  const tokenTransfers = one.logs.flatMap((log) => tokenTransferIn(membersOf(log)) ?? []);
  return { succeeded: one.status !== "0x0", contractAddress, fee, feeToken, tokenTransfers };
}

/** The type of transactions that carry blobs. */
const WITH_BLOBS = "0x3";

/** What a transaction paid for its blobs. Since the upgrade Jovian of the OP stack, `blobGasUsed` of others is the size of their data. */
function blobFeeIn({ type, blobGasUsed, blobGasPrice }: Members): bigint {
  return type === WITH_BLOBS ? (integerIn(blobGasUsed) ?? 0n) * (integerIn(blobGasPrice) ?? 0n) : 0n;
}

/** The transfer in a token's log. Undefined for any other log, and for a transfer of zero, which anybody can make on behalf of anybody. */
export function tokenTransferIn({ address, topics, data }: Members): Transfer | undefined {
  if (!isList(topics) || topics.length !== 3 || topics[0] !== TRANSFER_TOPIC) return undefined;
  const token = addressIn(address);
  const from = addressInTopic(topics[1]);
  const to = addressInTopic(topics[2]);
  const amount = typeof data === "string" && data.length === 66 ? integerIn(data) : undefined;
  if (!token || !from || !to || !amount) return undefined;
  return { token, from, to, amount };
}

function addressInTopic(topic: unknown): string | undefined {
  const word = hashIn(topic);
  return word?.startsWith(`0x${"0".repeat(24)}`) ? `0x${word.slice(26)}` : undefined;
}

/** Transfers of the native asset inside transactions, by transaction hash. Undefined if no node traces the block. */
async function tracesOf(
  evm: EvmNodes,
  chain: EvmChain,
  { header }: SentBlock,
): Promise<Map<string, Transfer[]> | undefined> {
  try {
    return await evm.call(chain, {
      method: "debug_traceBlockByHash",
      params: [header.hash, { tracer: "callTracer" }],
      maxAnswerBytes: MAX_BLOCK_ANSWER_BYTES,
      read: (answer) => internalTransfers(resultOf(answer), MAX_BLOCK_CALLS),
    });
  } catch (error) {
    if (error instanceof AnswerTooLarge) return undefined;
    if (error instanceof KeysteadError && error.code === "CHAIN_UNAVAILABLE") return undefined;
    throw error;
  }
}
