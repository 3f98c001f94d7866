import type { EvmChain } from "../chains/evm/networks.ts";
import type { EvmNodes } from "./evm.ts";
import type { RpcAnswer } from "./json-rpc.ts";

/** A signed transaction on its way. */
export interface Broadcast {
  /** 0x hex. */
  signedTransaction: string;
  /** 0x hex in lowercase. */
  transactionHash: string;
}

/** Whether the chain's nodes have the transaction now, or why they do not take it. */
export type BroadcastOutcome = { isKnown: true } | { isKnown: false; reason: string };

/** Geth and its kin, Nethermind, Besu, Erigon, Reth and Anvil, each in its own words. */
const KNOWN_ALREADY = /already ?known|already imported|known transaction|already exists|already in/i;
/** Trouble of the node's own, with which it says nothing about the transaction: EIP-1474, JSON-RPC 2.0 section 5.1 ... */
const OWN_TROUBLE_CODES = [-32_002, -32_004, -32_601, -32_603];
/** ... and what is said with other codes. */
const OWN_TROUBLE = /rate limit|too many requests|pool is full|not synced|syncing|time(d)? ?out|temporarily|try again/i;

/**
 * Gives a transaction to a chain; any number of times has the effect of one. It is looked for before, so that what is known
 * is not sent again, and after a refusal, which may come of its having been sent before: a nonce that it has used itself.
 *
 * @throws KeysteadError CHAIN_UNAVAILABLE; whether a node has taken it is then not known
 */
export async function broadcast(evm: EvmNodes, chain: EvmChain, transaction: Broadcast): Promise<BroadcastOutcome> {
  const { signedTransaction, transactionHash } = transaction;
  if (await isKnown(evm, chain, transactionHash)) return { isKnown: true };
  const outcome = await evm.call(chain, {
    method: "eth_sendRawTransaction",
    params: [signedTransaction],
    read: (answer) => outcomeIn(answer, transactionHash),
  });
  if (!outcome.isKnown && (await isKnown(evm, chain, transactionHash))) return { isKnown: true };
  return outcome;
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

function outcomeIn(answer: RpcAnswer, transactionHash: string): BroadcastOutcome | undefined {
  if ("result" in answer) return isSame(answer.result, transactionHash) ? { isKnown: true } : undefined;
  const { code, message } = answer.error;
  if (KNOWN_ALREADY.test(message)) return { isKnown: true };
  if (OWN_TROUBLE_CODES.includes(code) || OWN_TROUBLE.test(message)) return undefined;
  return { isKnown: false, reason: message };
}

const isSame = (answered: unknown, transactionHash: string): boolean =>
  typeof answered === "string" && answered.toLowerCase() === transactionHash;
