import type { EvmChain } from "../../../chains/evm/networks.ts";
import { KeysteadError } from "../../../kernel/errors.ts";
import { SETTLED_BLOCKS } from "../../../kernel/limits.ts";
import { newestBlock, transactionCount, transactionWithNonce } from "../../../nodes/evm-calls.ts";
import type { EvmNodes } from "../../../nodes/pool.ts";

/** Determines whether a block can still include a transaction that nodes do not know, or another has permanently taken its nonce. */

/**
 * The search for the transaction that took a nonce starts this many blocks before the block at which the nonce was still free, because a
 * reorganization can move transactions to earlier blocks.
 */
export const BLOCKS_BEFORE = 64;

/** For optional answers of nodes: undefined if no node is available. */
export function unlessAway(error: unknown): undefined {
  if (!(error instanceof KeysteadError) || error.code !== "CHAIN_UNAVAILABLE") throw error;
}

/**
 * Why no block will ever include a transaction that no node knows, even after a reorganization; undefined if one still may.
 *
 * @param sinceBlock the newest block when it was first sent to a node
 * @throws KeysteadError CHAIN_UNAVAILABLE
 */
export async function lostFor(
  evm: EvmNodes,
  caip2: EvmChain,
  { from: address, nonce, transactionHash }: { from: string; nonce: number; transactionHash: string },
  sinceBlock: number,
): Promise<string | undefined> {
  const settled = (await newestBlock(evm, caip2)) - SETTLED_BLOCKS;
  const from = Math.max(0, sinceBlock - BLOCKS_BEFORE);
  if (settled <= from) return undefined;
  const countBefore = await transactionCount(evm, caip2, address, from).catch(unlessAway);
  if (countBefore === undefined) return undefined;
  if (countBefore > nonce) return `the account had used the nonce ${nonce} before`;
  const range = { from, to: settled };
  const other = await transactionWithNonce(evm, caip2, { address, nonce }, range).catch(unlessAway);
  if (!other || other.hash === transactionHash) return undefined;
  return `another transaction of the account, ${other.hash}, took the nonce ${nonce}`;
}
