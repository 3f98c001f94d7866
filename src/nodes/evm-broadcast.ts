import type { EvmChain } from "../chains/evm/networks.ts";
import type { RpcAnswer } from "./json-rpc.ts";
import type { EvmNodes } from "./pool.ts";

/** A signed transaction to broadcast. */
export interface Broadcast {
  /** 0x hex. */
  signedTransaction: string;
  /** Lowercase 0x hex. */
  transactionHash: string;
}

/**
 * Whether the chain's nodes have the transaction, or why they reject it. `isInDoubt`: one node rejects it after another may have accepted
 * it without confirming.
 */
export type BroadcastOutcome = { isKnown: true } | { isKnown: false; reason: string; isInDoubt?: true };

interface Giving {
  isNew?: boolean;
  beforeGiven?: () => Promise<void>;
  onDoubt?: () => void;
}

/** The messages of Geth and its derivatives, Nethermind, Besu, Erigon, Reth and Anvil. */
const KNOWN_ALREADY =
  /already ?known|already imported|\bknown transaction|already exists|already in (the )?(tx|mem)?pool/i;
/** Codes of errors that keep a node from accepting any transaction: EIP-1474, JSON-RPC 2.0 section 5.1. */
const TAKES_NONE_CODES = [-32_004, -32_601];
/** Messages of the same errors with other codes. */
const TAKES_NONE = /rate limit|too many requests|pool is full|not synced|syncing/i;
/**
 * Codes of errors that do not say whether the node accepted the transaction. The problem is the node's own, or that of a peer to which it
 * forwards transactions, such as the sequencer of a rollup.
 */
const SAYS_NOTHING_CODES = [-32_002, -32_603];
const SAYS_NOTHING =
  /time(d)? ?out|temporarily|try again|deadline exceeded|context cancell?ed|\bEOF\b|connection (refused|reset|closed|lost)|broken pipe|bad gateway|service unavailable|internal (server )?error/i;

/**
 * Broadcasts a transaction. Repeating it has no further effect. The transaction is looked up first, so that a known one is not sent again,
 * and after a rejection, because the nonce may be used by the same transaction sent earlier.
 *
 * @param isNew whether no node can have it yet, so that the first lookup is unnecessary
 * @param beforeGiven called before it is sent to the first node
 * @param onDoubt called when a node may have accepted it without confirming
 * @throws KeysteadError CHAIN_UNAVAILABLE; if `onDoubt` was called, a node may have accepted the transaction
 */
export async function broadcast(
  evm: EvmNodes,
  chain: EvmChain,
  transaction: Broadcast,
  { isNew = false, beforeGiven, onDoubt }: Giving = {},
): Promise<BroadcastOutcome> {
  const { signedTransaction, transactionHash } = transaction;
  if (!isNew && (await isKnown(evm, chain, transactionHash))) return { isKnown: true };
  await beforeGiven?.();
  let isInDoubt = false;
  const doubt = () => {
    isInDoubt = true;
    onDoubt?.();
  };
  const outcome = await evm.call(chain, {
    method: "eth_sendRawTransaction",
    params: [signedTransaction],
    read: (answer) => outcomeIn(answer, transactionHash, doubt),
    onDoubt: doubt,
  });
  if (outcome.isKnown || (await isKnown(evm, chain, transactionHash))) return { isKnown: true };
  return isInDoubt ? { ...outcome, isInDoubt } : outcome;
}

/** Whether a node has it, in a block or pending. */
function isKnown(evm: EvmNodes, chain: EvmChain, transactionHash: string): Promise<boolean> {
  return evm.call(chain, {
    method: "eth_getTransactionByHash",
    params: [transactionHash],
    read: (answer) => {
      if (!("result" in answer)) return undefined;
      if (answer.result === null) return false;
      const { hash } = answer.result as { hash?: unknown };
      return isSame(hash, transactionHash) ? true : undefined;
    },
  });
}

function outcomeIn(answer: RpcAnswer, transactionHash: string, onDoubt: () => void): BroadcastOutcome | undefined {
  if ("error" in answer) {
    const { code, message } = answer.error;
    if (KNOWN_ALREADY.test(message)) return { isKnown: true };
    if (TAKES_NONE_CODES.includes(code) || TAKES_NONE.test(message)) return undefined;
    if (!SAYS_NOTHING_CODES.includes(code) && !SAYS_NOTHING.test(message)) return { isKnown: false, reason: message };
  } else if (isSame(answer.result, transactionHash)) {
    return { isKnown: true };
  }
  onDoubt();
  return undefined;
}

const isSame = (answered: unknown, transactionHash: string): boolean =>
  typeof answered === "string" && answered.toLowerCase() === transactionHash;
