import { isHash, type SolanaChain } from "../chains/solana/networks.ts";
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
 * What nodes of Solana are asked, and what their answers mean. An answer that is not of the shape that the call has is none, and
 * another node is asked; all throw CHAIN_UNAVAILABLE where no node gives one.
 */

/** Why a transaction fails, in the members that the API shows; lists and texts are bounded. */
export interface SolanaFailure {
  source: "simulation" | "broadcast" | "execution";
  rpcCode?: number;
  rpcMessage?: string;
  transactionErrorJson?: string;
  logs?: string[];
  /** Digits. */
  unitsConsumed?: string;
  innerInstructionsJson?: string;
}

/** What a node makes of a transaction before it is sent. */
export interface Simulation {
  /** Of the block that it was tried out on, where that one knows its blockhash. */
  slot?: number;
  /** Absent where it passes, and where the simulation cannot tell: of a blockhash that the node does not know (yet). */
  failure?: SolanaFailure;
}

/** Where the chain has a transaction. */
export interface SignatureStatus {
  /** Whether two thirds of the stake have voted for its block; before, another block may take its place. */
  isConfirmed: boolean;
  /** The transaction error, of one that was executed and failed. */
  error?: unknown;
}

/** No more slots is a node behind that still serves others: from 128 on it says itself that it is unhealthy, unless it is told otherwise. */
const SLOTS_BEHIND = 150;
const COMMITMENT = { commitment: "processed" } as const;
/** Errors by which a simulation says nothing of what the transaction does. */
const CANNOT_TELL = ["BlockhashNotFound", "AlreadyProcessed", "AccountInUse", "ClusterMaintenance", "SignatureFailure"];
/** Of those, what is said where the blockhash may not be known, be it too old or too new for the node; signatures come before it. */
const IS_NOT_KNOWN = ["BlockhashNotFound", "ClusterMaintenance", "SignatureFailure"];
/** The JSON-RPC error of a transaction that fails when it is tried out; its data are what came of that. */
const SIMULATION_FAILED = -32_002;

/** For a moment the same for all who ask: nobody has been authorized yet when an activity is planned. */
const newest = new WeakMap<SolanaNodes, Map<SolanaChain, () => Promise<string>>>();

/** A blockhash of the last moments, in base58. */
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
 * Tries a signed transaction out without sending it. The node gets it without its signatures, which are known to be good: with them it
 * could send what it says fails, after everybody was told that it is never sent.
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

/** The wire transaction with zeros in their places: one byte says how many there are, as no packet has room for 128. */
const withoutSignatures = (wire: Uint8Array): Buffer =>
  Buffer.from(wire).fill(0, 1, 1 + SIGNATURE_BYTES * (wire[0] ?? 0));
const SIGNATURE_BYTES = 64;

/** What comes of a transaction that nobody has signed. */
export interface Trial {
  /** Whether it fails. */
  isFailure: boolean;
  unitsConsumed?: number;
  /** Instructions that its own called, as far as the node tells what they are: `{parsed: {type, info}}`. */
  inner: readonly ParsedInstruction[];
  /** Of the accounts that were asked for, in that order, afterwards; null for one that is not there. */
  accounts: readonly (AccountSize | null)[];
}

export interface ParsedInstruction {
  programId: string;
  type: string;
  info: Record<string, unknown>;
}

export interface AccountSize {
  lamports: bigint;
  /** Bytes of its data. */
  space: number;
}

/**
 * Tries a transaction out that nobody has signed, with a blockhash of the node's own. Undefined where nodes do not do that, or not now.
 *
 * @param shown accounts to be told of
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

/** One that is closed in a trial is shown without lamports. */
function sizeOf(account: unknown): AccountSize | null {
  const [lamports, space] = [memberOf(account, "lamports"), memberOf(account, "space")];
  if (!Number.isSafeInteger(lamports) || !Number.isSafeInteger(space) || lamports === 0) return null;
  return { lamports: BigInt(lamports as number), space: space as number };
}

/** What accounts are now, at most 100; null for one that is not there. */
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

/** Lamports with which an account of so many bytes is exempt from rent. */
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
 * Prices of compute units, in millionths of a lamport, that transactions with these accounts got into blocks with of late; none where
 * nodes do not tell.
 *
 * @param accounts that are written to, at most 128
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

/** Whether the error of a simulation says nothing of what the transaction does. */
export const cannotTell = (error: unknown): boolean => CANNOT_TELL.includes(nameOf(error));

/** What a simulation says that failed. */
export const failureOf = (value: Record<string, unknown>): SolanaFailure => ({
  source: "simulation",
  ...detailsOf(value),
});

/** Where the chain has each transaction, by its signature in base58; undefined where it does not have it. As of a slot. */
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
  // What has no count of confirmations any more is final.
  const isConfirmed =
    confirmationStatus === "confirmed" || confirmationStatus === "finalized" || confirmations === null;
  return { isConfirmed, ...(err === null ? {} : { error: err }) };
}

/**
 * The slot of the final block by which no block can have the blockhash any more: neither the newest block nor the newest final one knows
 * it, and the final one comes after `knownAt`, by which it was there. Undefined where one still can: a blockhash that is too new for the
 * final block is not too old.
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
 * A slot by which a blockhash was there for certain, if it is one of the chain: where no node knows it, it may be too old, or newer than
 * all that the node has.
 */
export async function knownBy(nodes: SolanaNodes, chain: SolanaChain, blockhash: string): Promise<number> {
  const { isValid, slot } = await validity(nodes, chain, blockhash, "processed");
  return isValid ? slot : slot + SLOTS_BEHIND;
}

/** Whether a block of the chain that counts has the blockhash, as far as the nodes have come. */
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
 * Gives a signed transaction to the chain; any number of times has the effect of one. Resolves to why the nodes did not take it, which
 * is not to say that none has it.
 */
export function send(
  nodes: SolanaNodes,
  chain: SolanaChain,
  { signed, signature }: { signed: Uint8Array; signature: string },
): Promise<{ refusal?: SolanaFailure }> {
  return nodes.call<{ refusal?: SolanaFailure }>(chain, {
    method: "sendTransaction",
    // It was tried out before, and what a node makes of it later may come of its being there already.
    params: [base64(signed), { encoding: "base64", skipPreflight: true }],
    read: (answer) => {
      if ("result" in answer) return answer.result === signature ? {} : undefined;
      const { code, message, data } = answer.error;
      const details = code === SIMULATION_FAILED && isObject(data) ? detailsOf(data) : {};
      return { refusal: { source: "broadcast", rpcCode: code, rpcMessage: message, ...details } };
    },
  });
}

/** The members of what nodes say of an execution, real or tried out. */
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

/** The last ones: they say what went wrong. */
const boundedLogs = (logs: readonly unknown[]): string[] =>
  logs
    .filter((line) => typeof line === "string")
    .slice(-MAX_LOGS)
    .map((line) => line.slice(0, MAX_LOG_LENGTH).toWellFormed());

/** Undefined where there is nothing, or too much. */
function jsonOf(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  const json = JSON.stringify(value);
  return json.length <= MAX_FAILURE_JSON_LENGTH ? json : undefined;
}

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const memberOf = (value: unknown, name: string): unknown => (isObject(value) ? value[name] : undefined);

/** Of `{context: {slot}, value}`, as most results are. */
export const valueIn = (answer: RpcAnswer): unknown => memberOf(resultOf(answer), "value");

function slotIn(answer: RpcAnswer): number | undefined {
  const slot = memberOf(memberOf(resultOf(answer), "context"), "slot");
  return Number.isSafeInteger(slot) ? (slot as number) : undefined;
}

/** A transaction error is a word, or an object whose one member is named by it. */
const nameOf = (error: unknown): string => (typeof error === "string" ? error : (Object.keys(error ?? {})[0] ?? ""));
