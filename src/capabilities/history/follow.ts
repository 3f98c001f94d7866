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

/** One turn of following a chain: from the last block that was stored as far as the bounds allow. Nothing is stored here. */

export interface Surroundings {
  evm: EvmNodes;
  assets: AssetBook;
  read: Reader;
  log: Logger;
  tracing: Tracing;
}

export interface Turn {
  progress: Progress | undefined;
  /** Whether there are more blocks already. */
  isBehind: boolean;
  /** Why the turn ended early. */
  trouble: string | undefined;
}

/** @throws KeysteadError CHAIN_UNAVAILABLE, where nothing at all could be learned */
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
    // A number that a node made up was gone to as there is nothing to be found: nothing is lost by coming back.
    if (!(await hasAccountsOf(read, "ADDRESS_FORMAT_ETHEREUM"))) {
      return beginAnew(surroundings, chain, followed, latest, now);
    }
    const trouble = `its nodes are at block ${latest.number}, and it was followed to ${followed.head.number}`;
    return { progress: undefined, isBehind: false, trouble };
  }
  // Asked for after the newest block: whoever makes an account later finds nothing of theirs in it.
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

/** Begins before the newest block, so that this one is the first to be looked at. */
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

/** Goes to the newest block without reading those before it: there is no account that they could be about. */
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

/** Of the chain's first block; undefined where no node tells it. */
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

/** Whether the nodes have a chain that began with another block. */
async function isOtherChain(evm: EvmNodes, chain: EvmChain, { genesisHash }: Followed): Promise<boolean> {
  const there = genesisHash === undefined ? undefined : await genesisOf(evm, chain);
  return there !== undefined && there !== genesisHash;
}

/**
 * The newest of the followed blocks that the chain still has: the head, unless there was a reorganization. "ahead" where the node
 * has not come as far as we have, "far behind" where it is before all blocks that it could be held against; "lost" where it has
 * other blocks in place of ours.
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
  return header ?? unavailable(chain, `no node has the block ${number} any more`);
}

export function unavailable(chain: Chain, reason: string): never {
  throw new KeysteadError("CHAIN_UNAVAILABLE", { chain, reason }, []);
}

/** For a chain that is another one than before, as a local node's is after its restart. */
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
    "a chain has none of the blocks followed before",
  );
  const progress = beginning(chain, latest, { genesisHash: await genesisOf(evm, chain), now });
  const kept = await findKeptBlocks(read, { caip2: chain, from: head.number });
  const oldest = kept.at(-1)?.number ?? head.number;
  // Of another chain nothing is true that was found on this one.
  const ancestorNumber = (await isOtherChain(evm, chain, followed)) ? -1 : oldest - 1;
  return { progress: { ...progress, from: followed, ancestorNumber }, isBehind: true, trouble: undefined };
}

export interface Found {
  blocks: BlockRef[];
  entries: Entry[];
  trouble: string | undefined;
}

/** Reads the blocks after one, each the child of the one before it. What was read before trouble came up counts. */
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
        // Not there yet at this node, or of a branch that came up meanwhile: the next turn sees to it.
        if (block === undefined || block.parentHash !== head.hash) return found;
        found.entries = found.entries.concat(await entriesIn(surroundings, chain, block));
        head = { number: block.number, hash: block.hash };
        found.blocks.push(head);
        // What was read beyond that is read again: it is not often so much.
        if (found.entries.length >= MAX_ENTRIES_PER_TURN) break;
      }
    }
  } catch (error) {
    if (!isUnavailable(error)) throw error;
    found.trouble = error.message;
  }
  return found;
}

/** A block that is larger than anybody may make it is passed over: what is in it is missing, and not what comes after it. */
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
        "no node traces a block as those before: what moves inside its transactions is missing",
      );
    }
    return block;
  } catch (error) {
    if (!(error instanceof AnswerTooLarge)) throw error;
    log.error({ chain, block: number }, "a block is too large to be read and is passed over");
    const header = await requireHeader(evm, chain, number);
    return { ...header, transactions: [], isTraced: undefined };
  }
}

/** One look-up finds out whose addresses a block names, however many there are in all. */
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

/** Blocks after which nodes that traced none are asked again. */
const TRACING_PAUSE = 1000;

/** Whether the nodes of a chain trace blocks. Those that did are asked for each; others now and then. */
export class Tracing {
  #hasTraced = false;
  #nextAt = 0;

  isWorthAsking(blockNumber: number): boolean {
    return this.#hasTraced || blockNumber >= this.#nextAt;
  }

  /** "lost" is said of a block without traces where there were some before. */
  learn({ number, isTraced }: Block): "lost" | undefined {
    if (isTraced) this.#hasTraced = true;
    else if (isTraced === false) this.#nextAt = number + TRACING_PAUSE;
    return this.#hasTraced && isTraced === false ? "lost" : undefined;
  }
}
