import { base58 } from "@scure/base";
import { type BalanceChange, type Movement, movementsOf, type TokenAccount } from "../chains/solana/movements.ts";
import { isHash, type SolanaChain } from "../chains/solana/networks.ts";
import type { CompiledInstruction, MessageAccount } from "../chains/solana/transaction.ts";
import { MAX_BLOCK_ANSWER_BYTES, MAX_BLOCK_NUMBER, MAX_BLOCK_TIME } from "../kernel/limits.ts";
import { pause } from "../kernel/turns.ts";
import { isList, listIn, type Members, membersOf } from "./hex-values.ts";
import { AnswerTooLarge, type RpcAnswer, resultOf } from "./json-rpc.ts";
import type { SolanaNodes } from "./pool.ts";

/**
 * Reads confirmed blocks, those for which two thirds of the stake have voted. Blocks are numbered by their slots, some of which have no
 * block.
 */

export interface SolanaHeader {
  /** The slot. */
  number: number;
  /** Base58, like all hashes and addresses here. */
  hash: string;
  /** The previous block. Slots between the two are empty. */
  parent: { number: number; hash: string };
  /** In seconds. */
  timestamp: number;
}

export interface SolanaBlockTransaction {
  /** The index in the block. */
  index: number;
  signature: string;
  /** The signers in the order of the message. The first pays the fee. */
  signers: { address: string; writable: boolean }[];
  /** In lamports. */
  fee: bigint;
  failed: boolean;
  /** Empty if the transaction failed. */
  transfers: Movement[];
}

export interface SolanaBlock extends SolanaHeader {
  transactions: SolanaBlockTransaction[];
}

const CONFIRMED = { commitment: "confirmed" } as const;
/** Errors of nodes about a slot without a block, with and without long-term storage. */
const SKIPPED = [-32_007, -32_009];
/** How far back the newest block is searched for. A working cluster never skips so many slots. */
const NEWEST_WITHIN_SLOTS = 512;
/** Blocks have fewer transactions than a position can number. */
const MAX_TRANSACTIONS = 1 << 20;

/**
 * The slot of the newest block. Undefined if nodes report none in the newest slots.
 *
 * @throws KeysteadError CHAIN_UNAVAILABLE, as do all functions here
 */
export async function newestSlot(nodes: SolanaNodes, chain: SolanaChain): Promise<number | undefined> {
  const slot = await nodes.call(chain, { method: "getSlot", params: [CONFIRMED], read: slotIn });
  const params = [Math.max(0, slot - NEWEST_WITHIN_SLOTS), slot, CONFIRMED];
  const slots = await nodes.call(chain, { method: "getBlocks", params, read: slotsIn });
  return slots.at(-1);
}

/** The slots of the first `count` blocks from this slot on, ascending. */
export const slotsFrom = (nodes: SolanaNodes, chain: SolanaChain, slot: number, count: number): Promise<number[]> =>
  nodes.call(chain, { method: "getBlocksWithLimit", params: [slot, count, CONFIRMED], read: slotsIn });

/** The oldest slot whose block a node still stores. */
export const firstAvailableSlot = (nodes: SolanaNodes, chain: SolanaChain): Promise<number> =>
  nodes.call(chain, { method: "getFirstAvailableBlock", params: [], read: slotIn });

/** The block of a slot without its transactions. Undefined if the slot has no block. */
export async function solanaHeaderAt(
  nodes: SolanaNodes,
  chain: SolanaChain,
  slot: number,
): Promise<SolanaHeader | undefined> {
  const found = await nodes.call(chain, {
    method: "getBlock",
    params: [slot, optionsOf("none")],
    read: (answer) => (isSkipped(answer) ? "none" : headerIn(resultOf(answer), slot)),
  });
  return found === "none" ? undefined : found;
}

/**
 * The block of a slot with its transfers. Undefined if the slot has no block. If the block is too large with its instructions, its
 * transfers are derived from balances alone.
 *
 * @throws KeysteadError CHAIN_UNAVAILABLE, also for an incomplete block; AnswerTooLarge
 */
export async function solanaBlockAt(
  nodes: SolanaNodes,
  chain: SolanaChain,
  slot: number,
): Promise<SolanaBlock | undefined> {
  const raw = await rawBlockAt(nodes, chain, slot);
  if (raw === "none") return undefined;
  const transactions: SolanaBlockTransaction[] = [];
  for (const [index, one] of raw.read.entries()) {
    await pause();
    transactions.push(transactionOf(index, one));
  }
  return { ...raw.header, transactions };
}

/** How a successful transaction changed the balances of a wallet. */
export interface SolanaGains {
  /**
   * The wallet's own lamports, without the fee, and those of its token accounts, which are rent or wrapped SOL. Rent that another fee payer
   * paid is not included.
   */
  lamports: bigint;
  /** By mint. */
  tokens: ReadonlyMap<string, bigint>;
}

/** Undefined if no node shows the transaction, or if it failed. */
export async function gainsIn(
  nodes: SolanaNodes,
  chain: SolanaChain,
  { signature, wallet }: { signature: string; wallet: string },
): Promise<SolanaGains | undefined> {
  const options = { ...CONFIRMED, encoding: "json", maxSupportedTransactionVersion: 0 };
  const found = await nodes.call<ReadTransaction | "none">(chain, {
    method: "getTransaction",
    params: [signature, options],
    maxAnswerBytes: MAX_BLOCK_ANSWER_BYTES,
    read: (answer) => {
      const result = resultOf(answer);
      if (result === null) return "none";
      const read = transactionIn(membersOf(result));
      return read?.signature === signature ? read : undefined;
    },
  });
  return found === "none" || found.failed ? undefined : gainsOf(found, wallet);
}

function gainsOf({ accounts, fee, before, after, tokensBefore, tokensAfter }: ReadTransaction, wallet: string) {
  const own = new Set([wallet]);
  const tokens = new Map<string, bigint>();
  const count = ({ address, mint, owner, amount }: TokenAccount, sign: bigint): void => {
    if (owner !== wallet) return;
    own.add(address);
    tokens.set(mint, (tokens.get(mint) ?? 0n) + sign * amount);
  };
  for (const one of tokensBefore) count(one, -1n);
  for (const one of tokensAfter) count(one, 1n);
  const paid = (before[0] ?? 0n) - (after[0] ?? 0n);
  let lamports = accounts[0]?.key === wallet ? fee : fee - paid;
  for (const [index, { key }] of accounts.entries()) {
    if (own.has(key)) lamports += (after[index] as bigint) - (before[index] as bigint);
  }
  return { lamports, tokens };
}

type Details = "none" | "accounts" | "full";
interface RawBlock {
  header: SolanaHeader;
  read: ReadTransaction[];
}

async function rawBlockAt(nodes: SolanaNodes, chain: SolanaChain, slot: number): Promise<RawBlock | "none"> {
  const ask = (details: Details) =>
    nodes.call<RawBlock | "none">(chain, {
      method: "getBlock",
      params: [slot, optionsOf(details)],
      maxAnswerBytes: MAX_BLOCK_ANSWER_BYTES,
      read: (answer) => (isSkipped(answer) ? "none" : blockIn(resultOf(answer), slot)),
    });
  try {
    return await ask("full");
  } catch (error) {
    if (!(error instanceof AnswerTooLarge)) throw error;
    return ask("accounts");
  }
}

const optionsOf = (transactionDetails: Details) => ({
  ...CONFIRMED,
  encoding: "json",
  transactionDetails,
  maxSupportedTransactionVersion: 0,
  rewards: false,
});

const isSkipped = (answer: RpcAnswer): boolean => "error" in answer && SKIPPED.includes(answer.error.code);

const integerOf = (value: unknown): number | undefined =>
  Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : undefined;
const slotOf = (value: unknown): number | undefined => {
  const slot = integerOf(value);
  return slot !== undefined && slot <= MAX_BLOCK_NUMBER ? slot : undefined;
};
const slotIn = (answer: RpcAnswer): number | undefined => slotOf(resultOf(answer));
const hashIn = (value: unknown): string | undefined => (typeof value === "string" && isHash(value) ? value : undefined);

function slotsIn(answer: RpcAnswer): number[] | undefined {
  const slots = resultOf(answer);
  if (!isList(slots)) return undefined;
  const isAscending = slots.every(
    (slot, index) => slotOf(slot) !== undefined && (index === 0 || (slots[index - 1] as number) < (slot as number)),
  );
  return isAscending ? ([...slots] as number[]) : undefined;
}

function headerIn(value: unknown, number: number): SolanaHeader | undefined {
  const { blockhash, previousBlockhash, parentSlot, blockTime } = membersOf(value);
  const hash = hashIn(blockhash);
  const parentHash = hashIn(previousBlockhash);
  const parentNumber = integerOf(parentSlot);
  const timestamp = integerOf(blockTime);
  if (!hash || !parentHash || parentNumber === undefined || timestamp === undefined) return undefined;
  if (timestamp > MAX_BLOCK_TIME) return undefined;
  // Only the first block of a chain is its own parent.
  if (parentNumber >= number && number > 0) return undefined;
  return { number, hash, parent: { number: parentNumber, hash: parentHash }, timestamp };
}

function blockIn(value: unknown, slot: number): RawBlock | undefined {
  const header = headerIn(value, slot);
  const { transactions } = membersOf(value);
  if (!header || !isList(transactions) || transactions.length > MAX_TRANSACTIONS) return undefined;
  const read = listIn(transactions, transactionIn);
  return read && { header, read };
}

/** A transaction as a node reports it: its accounts, and how their balances changed. */
interface ReadTransaction {
  signature: string;
  accounts: MessageAccount[];
  fee: bigint;
  failed: boolean;
  before: bigint[];
  after: bigint[];
  tokensBefore: TokenAccount[];
  tokensAfter: TokenAccount[];
  /** As the node sent them. Most are never read. */
  instructions: unknown[];
}

function transactionIn({ transaction, meta }: Members): ReadTransaction | undefined {
  const { signatures, message, accountKeys } = membersOf(transaction);
  const outcome = membersOf(meta);
  const signature = isList(signatures) ? signatures[0] : undefined;
  const accounts = isList(accountKeys) ? parsedAccounts(accountKeys) : accountsOf(membersOf(message), outcome);
  const fee = integerOf(outcome.fee);
  const before = amountsIn(outcome.preBalances, accounts);
  const after = amountsIn(outcome.postBalances, accounts);
  const tokensBefore = tokensIn(outcome.preTokenBalances, accounts);
  const tokensAfter = tokensIn(outcome.postTokenBalances, accounts);
  if (typeof signature !== "string" || !isSignature(signature) || !accounts || fee === undefined) return undefined;
  if (!before || !after || !tokensBefore || !tokensAfter || outcome.err === undefined) return undefined;
  const instructions = isList(accountKeys) ? [] : instructionsIn(membersOf(message), outcome);
  const failed = outcome.err !== null;
  return { signature, accounts, fee: BigInt(fee), failed, before, after, tokensBefore, tokensAfter, instructions };
}

const isSignature = (text: string): boolean => /^[1-9A-HJ-NP-Za-km-z]{64,88}$/.test(text);

/** The accounts in a node's answer with full details: static ones by the header's counts, then those from lookup tables. */
function accountsOf({ accountKeys, header }: Members, { loadedAddresses }: Members): MessageAccount[] | undefined {
  const counts = membersOf(header);
  const required = integerOf(counts.numRequiredSignatures);
  const readonlySigned = integerOf(counts.numReadonlySignedAccounts);
  const readonlyUnsigned = integerOf(counts.numReadonlyUnsignedAccounts);
  const { writable = [], readonly = [] } = membersOf(loadedAddresses);
  if (!isList(accountKeys) || !isList(writable) || !isList(readonly)) return undefined;
  if (required === undefined || readonlySigned === undefined || readonlyUnsigned === undefined) return undefined;
  const keys = [...accountKeys, ...writable, ...readonly];
  if (required === 0 || required > accountKeys.length || !keys.every((key) => hashIn(key))) return undefined;
  return (keys as string[]).map((key, index) => {
    const signer = index < required;
    const isStatic = index < accountKeys.length;
    const end = isStatic
      ? signer
        ? required - readonlySigned
        : accountKeys.length - readonlyUnsigned
      : accountKeys.length + writable.length;
    return { key, signer, writable: index < end };
  });
}

/** The accounts in a node's answer without instructions. */
function parsedAccounts(list: readonly unknown[]): MessageAccount[] | undefined {
  const accounts = listIn(list, ({ pubkey, signer, writable }) => {
    const key = hashIn(pubkey);
    return key && typeof signer === "boolean" && typeof writable === "boolean" ? { key, signer, writable } : undefined;
  });
  return accounts?.[0]?.signer ? accounts : undefined;
}

/** One amount per account. */
function amountsIn(value: unknown, accounts: readonly MessageAccount[] | undefined): bigint[] | undefined {
  if (!isList(value) || value.length !== accounts?.length) return undefined;
  // JSON loses the last digits of balances beyond 2^53 lamports. No account has a hundredth of that.
  return value.every((amount) => integerOf(amount) !== undefined)
    ? value.map((amount) => BigInt(amount as number))
    : undefined;
}

/** Missing in blocks of the first years. */
function tokensIn(value: unknown, accounts: readonly MessageAccount[] | undefined): TokenAccount[] | undefined {
  if (value === undefined || value === null) return [];
  if (!isList(value)) return undefined;
  return listIn(value, ({ accountIndex, mint: mintText, owner: ownerText, uiTokenAmount }) => {
    const address = accounts?.[integerOf(accountIndex) ?? -1]?.key;
    const mint = hashIn(mintText);
    const { amount } = membersOf(uiTokenAmount);
    if (!address || !mint || typeof amount !== "string" || !/^[0-9]{1,20}$/.test(amount)) return undefined;
    // Missing in old blocks too. The account then counts as its own owner.
    return { address, mint, owner: hashIn(ownerText) ?? address, amount: BigInt(amount) };
  });
}

/** The instructions of the message, each followed by those that it called. */
function instructionsIn({ instructions }: Members, { innerInstructions }: Members): unknown[] {
  if (!isList(instructions)) return [];
  const inner = new Map<unknown, readonly unknown[]>();
  for (const group of isList(innerInstructions) ? innerInstructions : []) {
    const { index, instructions: called } = membersOf(group);
    if (isList(called)) inner.set(index, called);
  }
  return instructions.flatMap((instruction, index) => [instruction, ...(inner.get(index) ?? [])]);
}

function transactionOf(index: number, read: ReadTransaction): SolanaBlockTransaction {
  const { signature, accounts, fee, failed } = read;
  const signers = accounts.filter(({ signer }) => signer).map(({ key: address, writable }) => ({ address, writable }));
  return { index, signature, signers, fee, failed, transfers: failed ? [] : movementsIn(read) };
}

function movementsIn({ accounts, fee, before, after, tokensBefore, tokensAfter, instructions }: ReadTransaction) {
  const lamports = accounts.map(({ key }, index): BalanceChange => {
    const change = (after[index] as bigint) - (before[index] as bigint);
    return { address: key, amount: index === 0 ? change + fee : change };
  });
  return movementsOf({
    lamports,
    tokensBefore,
    tokensAfter,
    instructions: instructions.flatMap((each) => compiledIn(membersOf(each), accounts) ?? []),
  });
}

function compiledIn(
  { programIdIndex, accounts: indexes, data }: Members,
  accounts: readonly MessageAccount[],
): CompiledInstruction | undefined {
  const program = accounts[integerOf(programIdIndex) ?? -1];
  if (!program || !isList(indexes) || typeof data !== "string") return undefined;
  const used = indexes.map((index) => accounts[integerOf(index) ?? -1]);
  if (used.some((account) => account === undefined)) return undefined;
  return { program, accounts: used as MessageAccount[], data: bytesOf(data) };
}

/** The longest instruction data that can describe a transfer, in base58. Decoding takes time in proportion to the square of the length. */
const MAX_TRANSFER_DATA_LENGTH = 200;

const bytesOf = (data: string): Buffer =>
  data.length <= MAX_TRANSFER_DATA_LENGTH && /^[1-9A-HJ-NP-Za-km-z]*$/.test(data)
    ? Buffer.from(base58.decode(data))
    : Buffer.alloc(0);
