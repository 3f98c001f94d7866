import { createHash } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import type { SolanaChain } from "../../../chains/solana/networks.ts";
import { fail, failForNow } from "../../../kernel/errors.ts";
import { KEPT_BLOCKHASH_MS, MAX_BLOCKHASH_LOOKS, MAX_CHOSEN_BLOCKHASHES } from "../../../kernel/limits.ts";
import { type RecentlyUsed, recentlyUsed } from "../../../kernel/recently-used.ts";
import type { SolanaNodes } from "../../../nodes/pool.ts";
import { isBlockhashKnown, latestBlockhash } from "../../../nodes/solana-calls.ts";

/**
 * Blockhashes that this service chooses. The chain executes equal bytes once: two activities that ask for the same are two transactions only
 * by their blockhashes. Within a process none is chosen twice for one message; what other processes chose is found where it is stored.
 */

/** Digests of the messages with the blockhashes that were chosen for them. */
const chosen = new WeakMap<SolanaNodes, RecentlyUsed<true>>();

/** By the digest of a message, how many wait for another blockhash: no more of them than blocks that may come. */
const waiters = new Map<string, number>();

const RETRY_SECONDS = 1;

/**
 * A blockhash of the last moments, in base58, which was chosen for no other transaction with the same message: where the newest one
 * was, it waits for the next block.
 *
 * @param message with zeros for a blockhash
 * @throws KeysteadError SEND_REPEATED where none comes in time, or more wait for one than can come; CHAIN_UNAVAILABLE
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
 * Refuses a blockhash that is not of the chain. It alone says which cluster a message is for, and the sponsor has one key for all of them:
 * what it signs for one with a blockhash of another would be paid for there, and counted nowhere.
 *
 * @throws KeysteadError FIELD_INVALID, CHAIN_UNAVAILABLE
 */
export async function requireOwnBlockhash(nodes: SolanaNodes, chain: SolanaChain, blockhash: string): Promise<void> {
  if (await isBlockhashKnown(nodes, chain, blockhash)) return;
  const reason = `is not of a recent block of ${chain}; the service pays for no transaction that could not get into one. Name a newer one, or none`;
  fail("FIELD_INVALID", { field: "parameters.recentBlockhash", reason });
}

/** @param isTransient whether the same activity would get another blockhash */
export function refuseRepeated(chain: SolanaChain, { isTransient }: { isTransient: boolean }): never {
  return isTransient ? failForNow("SEND_REPEATED", { chain }, RETRY_SECONDS) : fail("SEND_REPEATED", { chain });
}
