import type { SolanaChain } from "../../chains/solana/networks.ts";
import {
  MAX_BLOCKS_AT_ONCE,
  MAX_BLOCKS_PER_TURN,
  MAX_ENTRIES_PER_TURN,
  MAX_KEPT_BLOCKS,
  WATCHER_TURN_MS,
} from "../../kernel/limits.ts";
import type { Logger } from "../../kernel/log.ts";
import { AnswerTooLarge } from "../../nodes/json-rpc.ts";
import type { SolanaNodes } from "../../nodes/pool.ts";
import {
  firstAvailableSlot,
  newestSlot,
  type SolanaBlock,
  type SolanaHeader,
  slotsFrom,
  solanaBlockAt,
  solanaHeaderAt,
} from "../../nodes/solana-blocks.ts";
import { hasAccountsOf } from "../wallets/store.ts";
import type { SeenBlock } from "./entries.ts";
import { entriesIn, type Found, isUnavailable, type Surroundings, type Turn, unavailable } from "./follow.ts";
import { type BlockRef, type Followed, findFollowed, findKeptBlocks, type Progress } from "./following.ts";

/**
 * One turn of following a Solana cluster: reads from the last stored block as far as the limits allow. It goes by slots, some of which have no
 * block, and reads confirmed blocks only. If the cluster drops such a block nevertheless, the blocks after it reveal that. Nothing is stored here.
 */

export type SolanaSurroundings = Pick<Surroundings, "assets" | "read"> & { solana: SolanaNodes; log: Logger };

/** The number of blocks that must follow a block before its transactions count as final. */
const FINAL_AFTER_BLOCKS = 32;

const NOTHING_NEW: Turn = { progress: undefined, isBehind: false, trouble: undefined };
const troubled = (trouble: string): Turn => ({ ...NOTHING_NEW, trouble });
const went = (progress: Progress, isBehind: boolean): Turn => ({ progress, isBehind, trouble: undefined });

/** @throws KeysteadError CHAIN_UNAVAILABLE if nothing at all could be read */
export async function followSolana(surroundings: SolanaSurroundings, chain: SolanaChain, now: number): Promise<Turn> {
  const { solana, read } = surroundings;
  const followed = await findFollowed(read, chain);
  const newest = await newestSlot(solana, chain);
  if (newest === undefined) return troubled("its nodes have no block in the newest slots");
  if (!followed) {
    const begins = beginning(chain, await requireHeader(solana, chain, newest));
    return went({ ...begins, from: undefined, now }, true);
  }
  const { head } = followed;
  if (newest + MAX_KEPT_BLOCKS < head.number) {
    // Without accounts, the watcher jumps to whatever slot a node reports as the newest, even a wrong one. Going back from it loses nothing.
    if (!(await hasAccountsOf(read, "ADDRESS_FORMAT_SOLANA"))) {
      const begins = beginning(chain, await requireHeader(solana, chain, newest));
      return went({ ...begins, ancestorNumber: begins.to.head.number - 1, from: followed, now }, true);
    }
    return troubled(`its nodes are at slot ${newest}, and it was followed to ${head.number}`);
  }
  if (newest <= head.number) return NOTHING_NEW;
  const kept = await findKeptBlocks(read, { caip2: chain, from: head.number });
  // Checked after the newest slot was read: accounts that are created later have no transactions in it.
  if (!(await hasAccountsOf(read, "ADDRESS_FORMAT_SOLANA"))) {
    const block = refOf(await requireHeader(solana, chain, newest));
    return went(progressTo({ chain, followed, kept, found: { blocks: [block], entries: [] }, now }), false);
  }
  const goneOn = (found: Found, ancestor = head): Turn => {
    if (found.blocks.length === 0) return { ...NOTHING_NEW, trouble: found.trouble };
    const isReorganized = ancestor.number < head.number;
    const progress = progressTo({ chain, followed, kept, found, now, ...(isReorganized ? { ancestor } : {}) });
    const isBehind = found.trouble === undefined && progress.to.head.number < newest;
    return { progress, isBehind, trouble: found.trouble };
  };
  // The chain nearly always continues from the head. Only if it does not, another place is searched for.
  const found = await readOn(surroundings, chain, head);
  if (found.blocks.length > 0 || found.trouble !== undefined) return goneOn(found);
  const place = await placeToGoOn(surroundings, chain, followed, kept);
  if (place === undefined) return NOTHING_NEW;
  if ("trouble" in place) return troubled(place.trouble);
  if ("begins" in place) return went({ ...place.begins, from: followed, now }, true);
  return goneOn(await readOn(surroundings, chain, place.ancestor), place.ancestor);
}

const refOf = ({ number, hash }: SolanaHeader): BlockRef => ({ number, hash });

/** Begins at the parent of this block, so that this block is the first to be read. */
function beginning(chain: SolanaChain, first: SolanaHeader): Beginning {
  const head = first.parent;
  return {
    caip2: chain,
    // There are no entries before it, so none can be called final too early.
    to: { head, finalizedNumber: head.number - MAX_KEPT_BLOCKS, genesisHash: undefined },
    ancestorNumber: undefined,
    blocks: [head],
    entries: [],
    oldestKept: head.number,
  };
}

/** The turn's progress. A block is final once enough blocks follow it. */
function progressTo({
  chain,
  followed,
  kept,
  found,
  ancestor,
  now,
}: {
  chain: SolanaChain;
  followed: Followed;
  kept: readonly BlockRef[];
  found: Pick<Found, "blocks" | "entries">;
  /** If the chain dropped blocks: the last block before them. */
  ancestor?: BlockRef;
  now: number;
}): Progress {
  const standing = ancestor === undefined ? kept : kept.filter(({ number }) => number <= ancestor.number);
  const newestFirst = [...found.blocks.toReversed(), ...standing];
  const head = newestFirst[0] ?? followed.head;
  const settled = Math.min(followed.finalizedNumber, ancestor?.number ?? followed.finalizedNumber);
  const finalizedNumber = Math.max(settled, newestFirst[FINAL_AFTER_BLOCKS]?.number ?? settled);
  return {
    caip2: chain,
    from: followed,
    to: { head, finalizedNumber, genesisHash: undefined },
    ancestorNumber: ancestor?.number,
    blocks: found.blocks,
    entries: found.entries,
    oldestKept: newestFirst.slice(0, MAX_KEPT_BLOCKS).at(-1)?.number ?? head.number,
    now,
  };
}

type Beginning = Omit<Progress, "from" | "now">;
type Place = { ancestor: BlockRef } | { begins: Beginning } | { trouble: string };

/**
 * Where to continue: after the head, unless the chain continued from an earlier block or the nodes no longer have the next blocks; undefined if
 * there is no next block. Blocks are dropped only if the chain has other ones in their place: a node that lacks blocks is no reason.
 */
async function placeToGoOn(
  { solana, log }: SolanaSurroundings,
  chain: SolanaChain,
  { head, finalizedNumber }: Followed,
  kept: readonly BlockRef[],
): Promise<Place | undefined> {
  const [next] = await slotsFrom(solana, chain, head.number + 1, 1);
  if (next === undefined) return undefined;
  const following = await requireHeader(solana, chain, next);
  const { parent } = following;
  if (parent.number === head.number && parent.hash === head.hash) return { ancestor: head };
  const first = await firstAvailableSlot(solana, chain);
  if (first > head.number) {
    log.error({ chain, followedTo: head.number, firstAvailable: first }, "no node has the next blocks");
    const begins = beginning(chain, following);
    return {
      begins: { ...begins, to: { ...begins.to, finalizedNumber }, oldestKept: kept.at(-1)?.number ?? head.number },
    };
  }
  let isOther = false;
  for (const block of kept) {
    if (block.number < first) break;
    const there = await solanaHeaderAt(solana, chain, block.number);
    if (there?.hash === block.hash) {
      return block.number < head.number ? { ancestor: block } : { trouble: notNamed(next) };
    }
    isOther ||= there !== undefined;
  }
  const oldest = kept.at(-1);
  if (!isOther || oldest === undefined) return { trouble: notNamed(next) };
  log.error({ chain, followedTo: head.number }, "a chain has none of the blocks that were followed before");
  const begins = beginning(chain, following);
  return { begins: { ...begins, ancestorNumber: Math.min(oldest.number, begins.to.head.number) - 1 } };
}

const notNamed = (slot: number): string => `its nodes do not name the block before the one in slot ${slot}`;

/** @throws KeysteadError CHAIN_UNAVAILABLE */
export async function requireHeader(solana: SolanaNodes, chain: SolanaChain, slot: number): Promise<SolanaHeader> {
  return (
    (await solanaHeaderAt(solana, chain, slot)) ?? unavailable(chain, `no node still has the block in slot ${slot}`)
  );
}

/** Reads the blocks after a block, each of which must be the child of the one before it. If a read fails, the blocks read so far count. */
async function readOn(surroundings: SolanaSurroundings, chain: SolanaChain, after: BlockRef): Promise<Found> {
  const found: Found = { blocks: [], entries: [], trouble: undefined };
  const deadline = performance.now() + WATCHER_TURN_MS;
  let head = after;
  try {
    const slots = await slotsFrom(surroundings.solana, chain, after.number + 1, MAX_BLOCKS_PER_TURN);
    while (slots.length > 0 && found.entries.length < MAX_ENTRIES_PER_TURN && performance.now() < deadline) {
      const read = await Promise.all(
        slots.splice(0, MAX_BLOCKS_AT_ONCE).map((slot) => solanaBlockOrHeader(surroundings, chain, slot)),
      );
      for (const block of read) {
        // The block belongs to a new branch, or the node did not list all blocks. The next turn handles it.
        if (block === undefined || block.parent.number !== head.number || block.parent.hash !== head.hash) return found;
        found.entries = found.entries.concat(await entriesIn(surroundings, chain, seen(block)));
        head = refOf(block);
        found.blocks.push(head);
        if (found.entries.length >= MAX_ENTRIES_PER_TURN) break;
      }
    }
  } catch (error) {
    if (!isUnavailable(error)) throw error;
    found.trouble = error.message;
  }
  return found;
}

/** Reads a block. If it is too large, only its header is returned: its transactions are missing, but not those of the blocks after it. */
export async function solanaBlockOrHeader(
  { solana, log }: Pick<SolanaSurroundings, "solana" | "log">,
  chain: SolanaChain,
  slot: number,
): Promise<SolanaBlock | undefined> {
  try {
    return await solanaBlockAt(solana, chain, slot);
  } catch (error) {
    if (!(error instanceof AnswerTooLarge)) throw error;
    log.error({ chain, block: slot }, "a block is too large to read and is skipped");
    return { ...(await requireHeader(solana, chain, slot)), transactions: [] };
  }
}

/** A block in the form that is common to all chains. */
export const seen = ({ number, hash, timestamp, transactions }: SolanaBlock): SeenBlock => ({
  number,
  hash,
  timestamp,
  transactions: transactions.map(({ index, signature, signers, fee, failed, transfers }) => ({
    index,
    hash: signature,
    from: signers[0]?.address ?? "",
    to: null,
    fee,
    feeToken: null,
    failed,
    transfers,
    solana: { signers, failed },
  })),
});
