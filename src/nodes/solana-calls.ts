import { isHash, type SolanaChain } from "../chains/solana/networks.ts";
import { isShallow } from "../kernel/json.ts";
import {
  KEPT_BLOCKHASH_MS,
  MAX_FAILURE_JSON_LENGTH,
  MAX_LOG_LENGTH,
  MAX_LOGS,
  MAX_TRIAL_ANSWER_BYTES,
} from "../kernel/limits.ts";
import { sharedAnswer } from "../kernel/shared-answer.ts";
import { type RpcAnswer, resultOf } from "./json-rpc.ts";
import type { SolanaNodes } from "./pool.ts";

/**
 * Calls to nodes of Solana. An answer that does not have the call's shape does not count, and the next node is called. All functions throw
 * CHAIN_UNAVAILABLE if no node answers.
 */

/** Why a transaction fails, in the API's form. Lists and texts are bounded. */
export interface SolanaFailure {
  source: "simulation" | "broadcast" | "execution";
  rpcCode?: number;
  rpcMessage?: string;
  transactionErrorJson?: string;
  logs?: string[];
  /** Decimal digits. */
  unitsConsumed?: string;
  innerInstructionsJson?: string;
}

/** A node's simulation of a transaction before it is sent. */
export interface Simulation {
  /** The slot of the block on which it was simulated, if that block knows its blockhash. */
  slot?: number;
  /** Missing if the transaction succeeds, and if the simulation is inconclusive because the node does not know the blockhash (yet). */
  failure?: SolanaFailure;
}

/** The status of a transaction on the chain. */
export interface SignatureStatus {
  /** Whether two thirds of the stake have voted for its block. Until then, another block may replace it. */
  isConfirmed: boolean;
  /** The transaction error, if it was executed and failed. */
  error?: unknown;
}

/** A node that is further behind than this many slots serves nobody: from 128 on, it reports itself as unhealthy by default. */
const SLOTS_BEHIND = 150;
const COMMITMENT = { commitment: "processed" } as const;
/** Errors with which a simulation says nothing about the transaction's effects. */
const CANNOT_TELL = ["BlockhashNotFound", "AlreadyProcessed", "AccountInUse", "ClusterMaintenance", "SignatureFailure"];
/** Those that occur if the node may not know the blockhash, because it is too old or too new. Signatures are checked before it. */
const IS_NOT_KNOWN = ["BlockhashNotFound", "ClusterMaintenance", "SignatureFailure"];
/** The JSON-RPC error for a transaction that fails in simulation. The error's data contain the result. */
const SIMULATION_FAILED = -32_002;

/** Shared among all callers for a short time, because the caller of an activity that is being planned has not been authorized yet. */
const newest = new WeakMap<SolanaNodes, Map<SolanaChain, () => Promise<string>>>();

/** A recent blockhash, in base58. */
export function latestBlockhash(nodes: SolanaNodes, chain: SolanaChain): Promise<string> {
  const ofChains = newest.get(nodes) ?? new Map<SolanaChain, () => Promise<string>>();
  newest.set(nodes, ofChains);
  const ofChain = ofChains.get(chain) ?? sharedAnswer(() => fetchBlockhash(nodes, chain), KEPT_BLOCKHASH_MS);
  ofChains.set(chain, ofChain);
  return ofChain();
}

const fetchBlockhash = (nodes: SolanaNodes, chain: SolanaChain): Promise<string> =>
  nodes.call(chain, {
    method: "getLatestBlockhash",
    params: [{ commitment: "confirmed" }],
    read: (answer) => {
      const hash = memberOf(valueIn(answer), "blockhash");
      return typeof hash === "string" && isHash(hash) ? hash : undefined;
    },
  });

/**
 * Simulates a signed transaction without sending it. The node gets it without its signatures, which are known to be valid. With them, the
 * node could send a transaction that it reports as failing, after the activity has failed and the transaction counts as never sent.
 */
export function simulate(nodes: SolanaNodes, chain: SolanaChain, signed: Uint8Array): Promise<Simulation> {
  const options = { encoding: "base64", sigVerify: false, innerInstructions: true, ...COMMITMENT };
  return nodes.call(chain, {
    method: "simulateTransaction",
    params: [base64(withoutSignatures(signed)), options],
    read: (answer) => {
      if ("error" in answer) return failureIn(answer.error.code === SIMULATION_FAILED ? answer.error.data : undefined);
      const slot = slotIn(answer);
      const value = valueIn(answer);
      if (slot === undefined || !isObject(value)) return undefined;
      const isKnown = !IS_NOT_KNOWN.includes(nameOf(value.err));
      return { ...(isKnown ? { slot } : {}), ...failureIn(value) };
    },
  });
}

/** The wire transaction with its signatures zeroed. Their count takes one byte, because no packet has room for 128. */
const withoutSignatures = (wire: Uint8Array): Buffer =>
  Buffer.from(wire).fill(0, 1, 1 + SIGNATURE_BYTES * (wire[0] ?? 0));
const SIGNATURE_BYTES = 64;

/** The simulation of an unsigned transaction. */
export interface Trial {
  /** Whether the transaction fails. */
  isFailure: boolean;
  unitsConsumed?: number;
  /** Instructions that its own instructions called, as far as the node parses them: `{parsed: {type, info}}`. */
  inner: readonly ParsedInstruction[];
  /** The requested accounts after the transaction, in the order of the request. Null for one that does not exist. */
  accounts: readonly (AccountSize | null)[];
}

export interface ParsedInstruction {
  programId: string;
  type: string;
  info: Record<string, unknown>;
}

export interface AccountSize {
  lamports: bigint;
  /** Bytes of the account's data. */
  space: number;
}

/**
 * Simulates an unsigned transaction with a blockhash that the node chooses. Undefined if nodes do not support that, or not now.
 *
 * @param shown accounts to return
 */
export function tryUnsigned(
  nodes: SolanaNodes,
  chain: SolanaChain,
  wire: Uint8Array,
  shown: readonly string[] = [],
): Promise<Trial | undefined> {
  const options = {
    encoding: "base64",
    sigVerify: false,
    replaceRecentBlockhash: true,
    innerInstructions: true,
    ...(shown.length > 0 ? { accounts: { encoding: "base64", addresses: shown } } : {}),
    ...COMMITMENT,
  };
  return nodes
    .call<{ trial?: Trial }>(chain, {
      method: "simulateTransaction",
      params: [base64(wire), options],
      maxAnswerBytes: MAX_TRIAL_ANSWER_BYTES,
      readTooLarge: () => ({}),
      read: (answer) => {
        if ("error" in answer) return {};
        const value = valueIn(answer);
        if (!isObject(value)) return undefined;
        return cannotTell(value.err) ? {} : { trial: trialIn(value, shown.length) };
      },
    })
    .then(({ trial }) => trial);
}

function trialIn({ err, unitsConsumed, innerInstructions, accounts }: Record<string, unknown>, shown: number): Trial {
  const calls = Array.isArray(innerInstructions) ? innerInstructions : [];
  const all = calls.flatMap((each) => memberOf(each, "instructions")).map(parsedInstruction);
  const sizes = Array.isArray(accounts) ? accounts.slice(0, shown).map(sizeOf) : [];
  return {
    isFailure: err !== undefined && err !== null,
    ...(Number.isSafeInteger(unitsConsumed) ? { unitsConsumed: unitsConsumed as number } : {}),
    inner: all.filter((each) => each !== undefined),
    accounts: Array.from({ length: shown }, (_, index) => sizes[index] ?? null),
  };
}

function parsedInstruction(instruction: unknown): ParsedInstruction | undefined {
  const [programId, parsed] = [memberOf(instruction, "programId"), memberOf(instruction, "parsed")];
  const [type, info] = [memberOf(parsed, "type"), memberOf(parsed, "info")];
  return typeof programId === "string" && typeof type === "string" && isObject(info)
    ? { programId, type, info }
    : undefined;
}

/** The simulation returns a closed account as one without lamports. */
function sizeOf(account: unknown): AccountSize | null {
  const [lamports, space] = [memberOf(account, "lamports"), memberOf(account, "space")];
  if (!Number.isSafeInteger(lamports) || !Number.isSafeInteger(space) || lamports === 0) return null;
  return { lamports: BigInt(lamports as number), space: space as number };
}

/** The current size of accounts, at most 100. Null for one that does not exist. */
export function accountSizes(
  nodes: SolanaNodes,
  chain: SolanaChain,
  addresses: readonly string[],
): Promise<readonly (AccountSize | null)[]> {
  const options = { encoding: "base64", dataSlice: { offset: 0, length: 0 }, ...COMMITMENT };
  return nodes.call(chain, {
    method: "getMultipleAccounts",
    params: [addresses, options],
    read: (answer) => {
      const value = valueIn(answer);
      return Array.isArray(value) && value.length === addresses.length ? value.map(sizeOf) : undefined;
    },
  });
}

/** The lamports with which an account of this many bytes is exempt from rent. */
export const exemptionOf = (nodes: SolanaNodes, chain: SolanaChain, space: number): Promise<bigint> =>
  nodes.call(chain, {
    method: "getMinimumBalanceForRentExemption",
    params: [space],
    read: (answer) => {
      const lamports = "result" in answer ? answer.result : undefined;
      return Number.isSafeInteger(lamports) ? BigInt(lamports as number) : undefined;
    },
  });

/**
 * Prices per compute unit, in millionths of a lamport, of recent transactions that write to these accounts. Empty if nodes do not report
 * any.
 *
 * @param accounts to which a transaction writes, at most 128
 */
export const recentUnitPrices = (
  nodes: SolanaNodes,
  chain: SolanaChain,
  accounts: readonly string[],
): Promise<number[]> =>
  nodes.call(chain, {
    method: "getRecentPrioritizationFees",
    params: [accounts],
    read: (answer) => {
      if ("error" in answer) return [];
      if (!Array.isArray(answer.result)) return undefined;
      return answer.result
        .map((each) => memberOf(each, "prioritizationFee"))
        .filter((price) => Number.isSafeInteger(price))
        .map(Number);
    },
  });

function failureIn(value: unknown): { failure?: SolanaFailure } {
  const error = memberOf(value, "err") ?? null;
  if (!isObject(value) || error === null || cannotTell(error)) return {};
  return { failure: failureOf(value) };
}

/** Whether the error of a simulation says nothing about the transaction's effects. */
export const cannotTell = (error: unknown): boolean => CANNOT_TELL.includes(nameOf(error));

/** The failure in the result of a simulation. */
export const failureOf = (value: Record<string, unknown>): SolanaFailure => ({
  source: "simulation",
  ...detailsOf(value),
});

/** The status of each transaction as of a slot, by its signature in base58. Undefined if the chain does not have it. */
export async function signatureStatuses(
  nodes: SolanaNodes,
  chain: SolanaChain,
  signatures: readonly string[],
): Promise<{ slot: number; statuses: (SignatureStatus | undefined)[] }> {
  return nodes.call(chain, {
    method: "getSignatureStatuses",
    params: [signatures, { searchTransactionHistory: true }],
    read: (answer) => {
      const slot = slotIn(answer);
      const value = valueIn(answer);
      if (slot === undefined || !Array.isArray(value) || value.length !== signatures.length) return undefined;
      const statuses = value.map(statusIn);
      return statuses.every((status) => status !== "unreadable") ? { slot, statuses } : undefined;
    },
  });
}

function statusIn(entry: unknown): SignatureStatus | undefined | "unreadable" {
  if (entry === null) return undefined;
  if (!isObject(entry) || !("err" in entry)) return "unreadable";
  const { confirmationStatus, confirmations, err } = entry;
  // A transaction without a count of confirmations is final.
  const isConfirmed =
    confirmationStatus === "confirmed" || confirmationStatus === "finalized" || confirmations === null;
  return { isConfirmed, ...(err === null ? {} : { error: err }) };
}

/**
 * The slot of a final block from which on no block can contain a transaction with this blockhash: neither the newest block nor the newest
 * final one knows it, and the final one is not older than `knownAt`, when the blockhash existed. Undefined if a block still can: a
 * blockhash that is too new for the final block is not expired.
 *
 * @param knownAt a slot
 */
export async function tooOldSince(
  nodes: SolanaNodes,
  chain: SolanaChain,
  { blockhash, knownAt }: { blockhash: string; knownAt: number },
): Promise<number | undefined> {
  const newest = await validity(nodes, chain, blockhash, "processed");
  if (newest.isValid) return undefined;
  const final = await validity(nodes, chain, blockhash, "finalized");
  return !final.isValid && final.slot >= knownAt ? final.slot : undefined;
}

/**
 * A slot at which a blockhash certainly existed, if it belongs to the chain. If no node knows it, it is too old, or newer than the nodes'
 * newest block.
 */
export async function knownBy(nodes: SolanaNodes, chain: SolanaChain, blockhash: string): Promise<number> {
  const { isValid, slot } = await validity(nodes, chain, blockhash, "processed");
  return isValid ? slot : slot + SLOTS_BEHIND;
}

/** Whether the chain currently accepts the blockhash, as far as the nodes have synced. */
export const isBlockhashKnown = async (nodes: SolanaNodes, chain: SolanaChain, blockhash: string): Promise<boolean> =>
  (await validity(nodes, chain, blockhash, "processed")).isValid;

const validity = (
  nodes: SolanaNodes,
  chain: SolanaChain,
  blockhash: string,
  commitment: "processed" | "finalized",
): Promise<{ isValid: boolean; slot: number }> =>
  nodes.call(chain, {
    method: "isBlockhashValid",
    params: [blockhash, { commitment }],
    read: (answer) => {
      const slot = slotIn(answer);
      const isValid = valueIn(answer);
      return slot !== undefined && typeof isValid === "boolean" ? { isValid, slot } : undefined;
    },
  });

/**
 * Sends a signed transaction. Repeating it has no further effect. Resolves to why the nodes rejected it, which does not prove that no node
 * has it.
 */
export function send(
  nodes: SolanaNodes,
  chain: SolanaChain,
  { signed, signature }: { signed: Uint8Array; signature: string },
): Promise<{ refusal?: SolanaFailure }> {
  return nodes.call<{ refusal?: SolanaFailure }>(chain, {
    method: "sendTransaction",
    // It was simulated before. A later simulation by the node may fail because the transaction is on the chain already.
    params: [base64(signed), { encoding: "base64", skipPreflight: true }],
    read: (answer) => {
      if ("result" in answer) return answer.result === signature ? {} : undefined;
      const { code, message, data } = answer.error;
      const details = code === SIMULATION_FAILED && isObject(data) ? detailsOf(data) : {};
      return { refusal: { source: "broadcast", rpcCode: code, rpcMessage: message, ...details } };
    },
  });
}

/** The details of an execution or simulation in a node's answer. */
function detailsOf(value: Record<string, unknown>): Omit<SolanaFailure, "source"> {
  const { err, logs, unitsConsumed, innerInstructions } = value;
  const inner = jsonOf(innerInstructions);
  return {
    ...(err === undefined || err === null ? {} : { transactionErrorJson: jsonOf(err) ?? "{}" }),
    ...(Array.isArray(logs) ? { logs: boundedLogs(logs) } : {}),
    ...(Number.isSafeInteger(unitsConsumed) ? { unitsConsumed: String(unitsConsumed) } : {}),
    ...(inner === undefined ? {} : { innerInstructionsJson: inner }),
  };
}

export const executionFailure = (error: unknown): SolanaFailure => ({
  source: "execution",
  transactionErrorJson: jsonOf(error) ?? "{}",
});

/** The last ones, which say what went wrong. */
const boundedLogs = (logs: readonly unknown[]): string[] =>
  logs
    .filter((line) => typeof line === "string")
    .slice(-MAX_LOGS)
    .map((line) => line.slice(0, MAX_LOG_LENGTH).toWellFormed());

/** Undefined if there is nothing, or too much. */
function jsonOf(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  const json = isShallow(value) ? JSON.stringify(value) : undefined;
  return json !== undefined && json.length <= MAX_FAILURE_JSON_LENGTH ? json : undefined;
}

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const memberOf = (value: unknown, name: string): unknown => (isObject(value) ? value[name] : undefined);

/** The value of a result such as `{context: {slot}, value}`, as most are. */
export const valueIn = (answer: RpcAnswer): unknown => memberOf(resultOf(answer), "value");

function slotIn(answer: RpcAnswer): number | undefined {
  const slot = memberOf(memberOf(resultOf(answer), "context"), "slot");
  return Number.isSafeInteger(slot) ? (slot as number) : undefined;
}

/** A transaction error is a string, or an object with a single member named after the error. */
const nameOf = (error: unknown): string => (typeof error === "string" ? error : (Object.keys(error ?? {})[0] ?? ""));
