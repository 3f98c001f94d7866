import { createHash } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import type { SolanaChain } from "../../../chains/solana/networks.ts";
import { fail, failForNow } from "../../../kernel/errors.ts";
import { KEPT_BLOCKHASH_MS, MAX_BLOCKHASH_LOOKS, MAX_CHOSEN_BLOCKHASHES } from "../../../kernel/limits.ts";
import { type RecentlyUsed, recentlyUsed } from "../../../kernel/recently-used.ts";
import type { SolanaNodes } from "../../../nodes/pool.ts";
import { isBlockhashKnown, latestBlockhash } from "../../../nodes/solana-calls.ts";

/**
 * Chooses blockhashes. The chain executes identical bytes only once, so two activities with the same message are two transactions only if
 * their blockhashes differ. A process never chooses a blockhash twice for one message; the callers find those chosen by other processes in the
 * database.
 */

/** The blockhashes that were chosen so far, each with its message's digest. */
const chosen = new WeakMap<SolanaNodes, RecentlyUsed<true>>();

/** The number of requests that wait for a new blockhash, by the digest of their message; at most as many as new blocks can arrive. */
const waiters = new Map<string, number>();

const RETRY_SECONDS = 1;

/**
 * A recent blockhash, in base58, that was not chosen for another transaction with the same message. If the newest one was, waits for the next
 * block.
 *
 * @param message with zeros as the blockhash
 * @throws KeysteadError SEND_REPEATED if no new one comes in time, or too many requests wait for one; CHAIN_UNAVAILABLE
 */
export async function chooseBlockhash(nodes: SolanaNodes, chain: SolanaChain, message: Uint8Array): Promise<string> {
  const digest = createHash("sha256").update(chain).update(message).digest("base64");
  for (let looks = 1; ; looks++) {
    const blockhash = await latestBlockhash(nodes, chain);
    if (isFirst(nodes, `${digest} ${blockhash}`)) return blockhash;
    const waiting = waiters.get(digest) ?? 0;
    if (looks >= MAX_BLOCKHASH_LOOKS || waiting >= MAX_BLOCKHASH_LOOKS) refuseRepeated(chain, { isTransient: true });
    waiters.set(digest, waiting + 1);
    await pause(KEPT_BLOCKHASH_MS);
    const left = (waiters.get(digest) ?? 1) - 1;
    if (left > 0) waiters.set(digest, left);
    else waiters.delete(digest);
  }
}

function isFirst(nodes: SolanaNodes, digest: string): boolean {
  const before = chosen.get(nodes) ?? recentlyUsed<true>({ entries: MAX_CHOSEN_BLOCKHASHES });
  chosen.set(nodes, before);
  if (before.get(digest)) return false;
  before.set(digest, true);
  return true;
}

/**
 * Refuses a blockhash that is not from this cluster. Only the blockhash ties a message to a cluster, and the sponsor uses one key for all of
 * them. With a blockhash of another cluster, the sponsor would pay there, and the cost would be counted nowhere.
 *
 * @throws KeysteadError FIELD_INVALID, CHAIN_UNAVAILABLE
 */
export async function requireOwnBlockhash(nodes: SolanaNodes, chain: SolanaChain, blockhash: string): Promise<void> {
  if (await isBlockhashKnown(nodes, chain, blockhash)) return;
  const reason = `is not the hash of a recent block on ${chain}; the service does not pay for a transaction that no block could include. Use a newer one, or leave it out`;
  fail("FIELD_INVALID", { field: "parameters.recentBlockhash", reason });
}

/** @param isTransient whether the same activity would get another blockhash */
export function refuseRepeated(chain: SolanaChain, { isTransient }: { isTransient: boolean }): never {
  return isTransient ? failForNow("SEND_REPEATED", { chain }, RETRY_SECONDS) : fail("SEND_REPEATED", { chain });
}
