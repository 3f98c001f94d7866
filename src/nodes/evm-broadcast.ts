import type { EvmChain } from "../chains/evm/networks.ts";
import type { RpcAnswer } from "./json-rpc.ts";
import type { EvmNodes } from "./pool.ts";

/** A signed transaction on its way. */
export interface Broadcast {
  /** 0x hex. */
  signedTransaction: string;
  /** 0x hex in lowercase. */
  transactionHash: string;
}

/**
 * Whether the chain's nodes have the transaction now, or why they do not take it. In doubt is what one refuses after another may have
 * taken it without saying so.
 */
export type BroadcastOutcome = { isKnown: true } | { isKnown: false; reason: string; isInDoubt?: true };

interface Giving {
  isNew?: boolean;
  beforeGiven?: () => Promise<void>;
  onDoubt?: () => void;
}

/** Geth and its kin, Nethermind, Besu, Erigon, Reth and Anvil, each in its own words. */
const KNOWN_ALREADY =
  /already ?known|already imported|\bknown transaction|already exists|already in (the )?(tx|mem)?pool/i;
/** Trouble of the node's own, which keeps it from taking any transaction: EIP-1474, JSON-RPC 2.0 section 5.1 ... */
const TAKES_NONE_CODES = [-32_004, -32_601];
/** ... and what is said with other codes. */
const TAKES_NONE = /rate limit|too many requests|pool is full|not synced|syncing/i;
/**
 * Trouble with which it says nothing about the transaction, not even that it has not taken it: of its own, or with whom it passes it on to,
 * as nodes of rollups do to the sequencer.
 */
const SAYS_NOTHING_CODES = [-32_002, -32_603];
const SAYS_NOTHING =
  /time(d)? ?out|temporarily|try again|deadline exceeded|context cancell?ed|\bEOF\b|connection (refused|reset|closed|lost)|broken pipe|bad gateway|service unavailable|internal (server )?error/i;

/**
 * Gives a transaction to a chain; any number of times has the effect of one. It is looked for before, so that what is known
 * is not sent again, and after a refusal, which may come of its having been sent before: a nonce that it has used itself.
 *
 * @param isNew whether no node can have it yet, so that it need not be looked for before
 * @param beforeGiven done before it is given to the first node
 * @param onDoubt told when a node may have taken it and did not say so
 * @throws KeysteadError CHAIN_UNAVAILABLE; whether a node has taken it is then not known, where `onDoubt` was told
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

/** Whether a node has it, in a block or waiting for one. */
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
