import type { EvmChain } from "../../../chains/evm/networks.ts";
import { KeysteadError } from "../../../kernel/errors.ts";
import { SETTLED_BLOCKS } from "../../../kernel/limits.ts";
import { newestBlock, transactionCount, transactionWithNonce } from "../../../nodes/evm-calls.ts";
import type { EvmNodes } from "../../../nodes/pool.ts";

/** Whether a transaction that nodes do not know can still come into a block, or another has its nonce for good. */

/** How far before the block by which a nonce was still free a look for whoever took it begins; a reorganization moves blocks. */
export const BLOCKS_BEFORE = 64;

/** For what can be done without. */
export function unlessAway(error: unknown): undefined {
  if (!(error instanceof KeysteadError) || error.code !== "CHAIN_UNAVAILABLE") throw error;
}

/**
 * Why no block will ever have a transaction that no node knows, so that no reorganization changes it; undefined where one may.
 *
 * @param sinceBlock the newest block when it was given to a node first
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
