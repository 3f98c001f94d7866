import type { AssetBook } from "../../chains/evm/assets.ts";
import { finalityDepthOf } from "../../chains/evm/finality.ts";
import type { EvmChain } from "../../chains/evm/networks.ts";
import { KeysteadError } from "../../kernel/errors.ts";
import {
  MAX_ADDRESSES_PER_LOOKUP,
  MAX_BLOCKS_AT_ONCE,
  MAX_BLOCKS_PER_TURN,
  MAX_ENTRIES_PER_TURN,
  MAX_KEPT_BLOCKS,
  WATCHER_TURN_MS,
} from "../../kernel/limits.ts";
import type { Logger } from "../../kernel/log.ts";
import { type Block, type BlockHeader, blockAt, headerAt, latestHeader } from "../../nodes/evm-blocks.ts";
import type { Chain } from "../../nodes/families.ts";
import { AnswerTooLarge } from "../../nodes/json-rpc.ts";
import type { EvmNodes } from "../../nodes/pool.ts";
import type { Reader } from "../../storage/engine.ts";
import { hasAccountsOf, ownersOfAddresses } from "../wallets/store.ts";
import { addressesOf, type Entry, entriesOf, type SeenBlock } from "./entries.ts";
import { type BlockRef, type Followed, findFollowed, findKeptBlocks, type Progress } from "./following.ts";
import { formatOn } from "./model.ts";

/** One turn of following a chain: reads from the last stored block as far as the limits allow. Nothing is stored here. */

export interface Surroundings {
  evm: EvmNodes;
  assets: AssetBook;
  read: Reader;
  log: Logger;
  tracing: Tracing;
}

export interface Turn {
  progress: Progress | undefined;
  /** Whether more blocks are available already. */
  isBehind: boolean;
  /** Why the turn ended early. */
  trouble: string | undefined;
}

/** @throws KeysteadError CHAIN_UNAVAILABLE if nothing at all could be read */
export async function follow(surroundings: Surroundings, chain: EvmChain, now: number): Promise<Turn> {
  const { evm, read } = surroundings;
  const followed = await findFollowed(read, chain);
  const latest = await latestHeader(evm, chain);
  if (!followed) {
    const genesisHash = await genesisOf(evm, chain);
    return { progress: beginning(chain, latest, { genesisHash, now }), isBehind: true, trouble: undefined };
  }
  const ancestor = await lastCommonBlock(surroundings, chain, followed, latest);
  if (ancestor === "lost") return beginAnew(surroundings, chain, followed, latest, now);
  if (ancestor === "ahead") return { progress: undefined, isBehind: false, trouble: undefined };
  if (ancestor === "far behind") {
    // Without accounts, the watcher jumps to whatever block a node reports as the newest, even a wrong one. Going back from it loses nothing.
    if (!(await hasAccountsOf(read, "ADDRESS_FORMAT_ETHEREUM"))) {
      return beginAnew(surroundings, chain, followed, latest, now);
    }
    const trouble = `its nodes are at block ${latest.number}, and it was followed to ${followed.head.number}`;
    return { progress: undefined, isBehind: false, trouble };
  }
  // Checked after the newest block was read: accounts that are created later have no transactions in it.
  if (!(await hasAccountsOf(read, "ADDRESS_FORMAT_ETHEREUM"))) return passOver(chain, followed, ancestor, latest, now);
  const found = await readOn(surroundings, chain, ancestor, latest);
  const head = found.blocks.at(-1) ?? ancestor;
  const isReorganized = ancestor.number < followed.head.number || ancestor.hash !== followed.head.hash;
  if (head === ancestor && !isReorganized) return { progress: undefined, isBehind: false, trouble: found.trouble };
  const settled = isReorganized ? Math.min(followed.finalizedNumber, ancestor.number) : followed.finalizedNumber;
  const finalizedNumber = Math.max(settled, head.number - finalityDepthOf(chain));
  const genesisHash = followed.genesisHash ?? (await genesisOf(evm, chain));
  return {
    progress: {
      caip2: chain,
      from: followed,
      to: { head, finalizedNumber, genesisHash },
      ancestorNumber: isReorganized ? ancestor.number : undefined,
      blocks: found.blocks,
      entries: found.entries,
      oldestKept: oldestKeptAt(head),
      now,
    },
    isBehind: found.trouble === undefined && head.number < latest.number,
    trouble: found.trouble,
  };
}

/** Begins at the parent of the newest block, so that the newest is the first to be read. */
function beginning(
  chain: EvmChain,
  latest: BlockHeader,
  { genesisHash, now }: { genesisHash: string | undefined; now: number },
): Progress {
  const head = parentOf(latest);
  return {
    caip2: chain,
    from: undefined,
    to: { head, finalizedNumber: head.number - finalityDepthOf(chain), genesisHash },
    ancestorNumber: undefined,
    blocks: [head],
    entries: [],
    oldestKept: oldestKeptAt(head),
    now,
  };
}

/** Skips to the newest block without reading those before it, because there is no account that they could concern. */
function passOver(chain: EvmChain, followed: Followed, ancestor: BlockRef, latest: BlockHeader, now: number): Turn {
  const head = { number: latest.number, hash: latest.hash };
  if (head.hash === followed.head.hash) return { progress: undefined, isBehind: false, trouble: undefined };
  const finalizedNumber = Math.max(
    Math.min(followed.finalizedNumber, ancestor.number),
    head.number - finalityDepthOf(chain),
  );
  const progress = {
    caip2: chain,
    from: followed,
    to: { head, finalizedNumber, genesisHash: followed.genesisHash },
    ancestorNumber: ancestor.number,
    blocks: head.hash === ancestor.hash ? [] : [head],
    entries: [],
    oldestKept: oldestKeptAt(head),
    now,
  };
  return { progress, isBehind: false, trouble: undefined };
}

const parentOf = ({ number, parentHash }: BlockHeader): BlockRef => ({ number: number - 1, hash: parentHash });
const oldestKeptAt = ({ number }: BlockRef): number => number - MAX_KEPT_BLOCKS + 1;

/** The hash of the chain's first block; undefined if no node reports it. */
async function genesisOf(evm: EvmNodes, chain: EvmChain): Promise<string | undefined> {
  try {
    return (await headerAt(evm, chain, 0))?.hash;
  } catch (error) {
    if (isUnavailable(error)) return undefined;
    throw error;
  }
}

export const isUnavailable = (error: unknown): error is KeysteadError =>
  error instanceof KeysteadError && error.code === "CHAIN_UNAVAILABLE";

/** Whether the nodes now have a chain with another first block. */
async function isOtherChain(evm: EvmNodes, chain: EvmChain, { genesisHash }: Followed): Promise<boolean> {
  const there = genesisHash === undefined ? undefined : await genesisOf(evm, chain);
  return there !== undefined && there !== genesisHash;
}

/**
 * The newest followed block that the chain still has: the head, unless there was a reorganization. "ahead" if the node has not reached our head
 * yet, "far behind" if it is before all blocks whose hashes are kept, "lost" if it has other blocks in place of all of ours.
 */
async function lastCommonBlock(
  { evm, read }: Surroundings,
  chain: EvmChain,
  followed: Followed,
  latest: BlockHeader,
): Promise<BlockRef | "ahead" | "far behind" | "lost"> {
  const { head } = followed;
  if (latest.number === head.number && latest.hash === head.hash) return head;
  if (latest.number === head.number + 1 && latest.parentHash === head.hash) return head;
  const kept = await findKeptBlocks(read, { caip2: chain, from: Math.min(head.number, latest.number) });
  for (const block of kept) {
    const there = block.number === latest.number ? latest : await requireHeader(evm, chain, block.number);
    if (there.hash !== block.hash) continue;
    return block.number === latest.number && block.number < head.number ? "ahead" : block;
  }
  if (kept.length > 0) return "lost";
  return (await isOtherChain(evm, chain, followed)) ? "lost" : "far behind";
}

async function requireHeader(evm: EvmNodes, chain: EvmChain, number: number): Promise<BlockHeader> {
  const header = await headerAt(evm, chain, number);
  return header ?? unavailable(chain, `no node still has the block ${number}`);
}

export function unavailable(chain: Chain, reason: string): never {
  throw new KeysteadError("CHAIN_UNAVAILABLE", { chain, reason }, []);
}

/** Begins anew, for a chain that is not the same as before, such as that of a local node after a restart. */
async function beginAnew(
  { evm, read, log }: Surroundings,
  chain: EvmChain,
  followed: Followed,
  latest: BlockHeader,
  now: number,
): Promise<Turn> {
  const { head } = followed;
  log.error(
    { chain, followedTo: head.number, nodeIsAt: latest.number },
    "a chain has none of the blocks that were followed before",
  );
  const progress = beginning(chain, latest, { genesisHash: await genesisOf(evm, chain), now });
  const kept = await findKeptBlocks(read, { caip2: chain, from: head.number });
  const oldest = kept.at(-1)?.number ?? head.number;
  // If it is another chain, everything that was found before is wrong.
  const ancestorNumber = (await isOtherChain(evm, chain, followed)) ? -1 : oldest - 1;
  return { progress: { ...progress, from: followed, ancestorNumber }, isBehind: true, trouble: undefined };
}

export interface Found {
  blocks: BlockRef[];
  entries: Entry[];
  trouble: string | undefined;
}

/** Reads the blocks after a block, each of which must be the child of the one before it. If a read fails, the blocks read so far count. */
async function readOn(
  surroundings: Surroundings,
  chain: EvmChain,
  after: BlockRef,
  latest: BlockHeader,
): Promise<Found> {
  const found: Found = { blocks: [], entries: [], trouble: undefined };
  const end = Math.min(latest.number, after.number + MAX_BLOCKS_PER_TURN);
  const deadline = performance.now() + WATCHER_TURN_MS;
  let head = after;
  try {
    while (head.number < end && found.entries.length < MAX_ENTRIES_PER_TURN && performance.now() < deadline) {
      const count = Math.min(MAX_BLOCKS_AT_ONCE, end - head.number);
      const first = head.number + 1;
      const read = await Promise.all(
        Array.from({ length: count }, (_, index) => blockOrHeader(surroundings, chain, first + index)),
      );
      for (const block of read) {
        // The node does not have the block yet, or it belongs to a new branch. The next turn handles it.
        if (block === undefined || block.parentHash !== head.hash) return found;
        found.entries = found.entries.concat(await entriesIn(surroundings, chain, block));
        head = { number: block.number, hash: block.hash };
        found.blocks.push(head);
        // The next turn reads the rest of these blocks again. So many entries are rare.
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
export async function blockOrHeader(
  { evm, log, tracing }: Surroundings,
  chain: EvmChain,
  number: number,
): Promise<Block | undefined> {
  try {
    const traces = tracing.isWorthAsking(number);
    const block = await blockAt(evm, chain, number, { traces });
    if (block && tracing.learn(block) === "lost") {
      log.warn(
        { chain, block: number },
        "no node traces a block like the earlier ones: transfers inside its transactions are missing",
      );
    }
    return block;
  } catch (error) {
    if (!(error instanceof AnswerTooLarge)) throw error;
    log.error({ chain, block: number }, "a block is too large to read and is skipped");
    const header = await requireHeader(evm, chain, number);
    return { ...header, transactions: [], isTraced: undefined };
  }
}

/** The entries of a block. The owners of its addresses are looked up together, so the cost does not depend on how many accounts exist. */
export async function entriesIn(
  { read, assets }: Pick<Surroundings, "read" | "assets">,
  chain: Chain,
  block: SeenBlock,
): Promise<Entry[]> {
  const addresses = await addressesOf(block);
  const owners = new Map<string, string[]>();
  for (let at = 0; at < addresses.length; at += MAX_ADDRESSES_PER_LOOKUP) {
    const found = await ownersOfAddresses(read, formatOn(chain), addresses.slice(at, at + MAX_ADDRESSES_PER_LOOKUP));
    for (const [address, organizationIds] of found) owners.set(address, organizationIds);
  }
  return owners.size > 0 ? entriesOf(chain, block, owners, assets) : [];
}

/** After this many blocks, traces are requested again from nodes that returned none. */
const TRACING_PAUSE = 1000;

/** Whether a chain's nodes trace blocks. If they did once, traces are requested for every block; otherwise only now and then. */
export class Tracing {
  #hasTraced = false;
  #nextAt = 0;

  isWorthAsking(blockNumber: number): boolean {
    return this.#hasTraced || blockNumber >= this.#nextAt;
  }

  /** Returns "lost" for a block without traces if there were traces before. */
  learn({ number, isTraced }: Block): "lost" | undefined {
    if (isTraced) this.#hasTraced = true;
    else if (isTraced === false) this.#nextAt = number + TRACING_PAUSE;
    return this.#hasTraced && isTraced === false ? "lost" : undefined;
  }
}
