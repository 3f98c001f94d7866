import { isSolanaChain, type SolanaChain } from "../../chains/solana/networks.ts";
import { MAX_BLOCKS_AT_ONCE, MAX_BLOCKS_PER_TURN } from "../../kernel/limits.ts";
import type { Chain } from "../../nodes/families.ts";
import type { SolanaNodes } from "../../nodes/pool.ts";
import { firstAvailableSlot, type SolanaHeader, slotsFrom } from "../../nodes/solana-blocks.ts";
import type { Database } from "../../storage/database.ts";
import type { Entry, SeenBlock } from "./entries.ts";
import { blockOrHeader, entriesIn, type Surroundings, unavailable } from "./follow.ts";
import { requireHeader, seen, solanaBlockOrHeader } from "./follow-solana.ts";
import { addEntries, TOLD } from "./following.ts";

/** Reads blocks that were never searched for an account: those from before the account, or the server, existed. */

export interface Span {
  /** The first block. */
  from: number;
  /** The last block, which must be final. */
  to: number;
}

/** The progress of a backfill. */
export interface Backfilled {
  /** The block, or slot, to continue with. */
  next: number;
  /** Transactions of known addresses in the blocks read so far. */
  transactions: number;
}

/** The services for reading blocks. */
export type Reading = Omit<Surroundings, "read"> & { solana: SolanaNodes };

/**
 * Adds the entries of these blocks for the addresses that are known now. Existing entries stay unchanged, and no events are sent. The blocks are
 * read in portions, each of which is stored before the next is read.
 *
 * @throws KeysteadError CHAIN_UNAVAILABLE
 */
export async function* backfill(
  database: Database,
  reading: Reading,
  chain: Chain,
  { from, to }: Span,
): AsyncGenerator<Backfilled> {
  if (isSolanaChain(chain)) await requireSlot(reading.solana, chain, from);
  const surroundings = { ...reading, read: database.read };
  let transactions = 0;
  for (let next = from; next <= to; ) {
    const numbers = await numbersFrom(reading.solana, chain, next, to);
    let entries: Entry[] = [];
    for (let at = 0; at < numbers.length; at += MAX_BLOCKS_AT_ONCE) {
      const portion = numbers.slice(at, at + MAX_BLOCKS_AT_ONCE);
      const blocks = await Promise.all(
        portion.map((number, index) => blockOf(surroundings, chain, number, (numbers[at + index - 1] ?? next - 1) + 1)),
      );
      for (const block of blocks) entries = entries.concat(await entriesIn(surroundings, chain, block));
    }
    next = (numbers.at(-1) ?? to) + 1;
    await database.transact(undefined, (tx) => addEntries(tx, chain, entries, TOLD.all));
    transactions += entries.length;
    yield { next, transactions };
  }
}

/** The numbers of the next blocks up to `to`; empty if there are no more. */
async function numbersFrom(solana: SolanaNodes, chain: Chain, from: number, to: number): Promise<number[]> {
  if (!isSolanaChain(chain)) {
    return Array.from({ length: Math.min(MAX_BLOCKS_PER_TURN, to - from + 1) }, (_, index) => from + index);
  }
  const slots = await slotsFrom(solana, chain, from, MAX_BLOCKS_PER_TURN);
  const [first] = slots;
  // Final blocks have blocks after them, so only a node that is behind lists none.
  if (first === undefined) unavailable(chain, `its nodes name no block from slot ${from} on`);
  if (first > to) requireNoneBetween(chain, await requireHeader(solana, chain, first), from);
  return slots.filter((slot) => slot <= to);
}

/** @param from the first number after the previous block in the list */
async function blockOf(
  surroundings: Reading & Surroundings,
  chain: Chain,
  number: number,
  from: number,
): Promise<SeenBlock> {
  const missing = () => unavailable(chain, `no node has the block ${number}`);
  if (!isSolanaChain(chain)) return (await blockOrHeader(surroundings, chain, number)) ?? missing();
  const block = (await solanaBlockOrHeader(surroundings, chain, number)) ?? missing();
  requireNoneBetween(chain, block, from);
  return seen(block);
}

/** Refuses a gap between blocks. Another node than before may have answered, which has deleted more old blocks and lists later ones as the next. */
function requireNoneBetween(chain: SolanaChain, { number, parent }: SolanaHeader, from: number): void {
  // The first block of a chain is its own parent.
  if (parent.number < from || number === 0) return;
  unavailable(chain, `its nodes do not name the block in slot ${parent.number}, before the one in slot ${number}`);
}

/** Requires that the nodes still have this slot: a Solana node that has deleted blocks lists the next ones that it has. */
async function requireSlot(solana: SolanaNodes, chain: SolanaChain, from: number): Promise<void> {
  const first = await firstAvailableSlot(solana, chain);
  if (first > from) unavailable(chain, `the oldest block that its nodes have is in slot ${first}`);
}
