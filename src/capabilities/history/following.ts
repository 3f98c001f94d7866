import type { Chain } from "../../nodes/families.ts";
import type { Reader, Transactor } from "../../storage/engine.ts";
import { prepared, preparedWrite } from "../../storage/prepared.ts";
import type { Entry } from "./entries.ts";
import { beginOf } from "./position.ts";

/** Stores how far each chain was followed, and the entries that were found. */

export interface BlockRef {
  number: number;
  hash: string;
}

export interface Followed {
  head: BlockRef;
  /** This block and those before it are final. */
  finalizedNumber: number;
  /** The hash of the chain's first block, if a node has reported it. */
  genesisHash: string | undefined;
}

/** The result of a turn of a chain's watcher. */
export interface Progress {
  caip2: Chain;
  /** The state at the beginning of the turn; undefined for the first one. */
  from: Followed | undefined;
  to: Followed;
  /** A reorganization dropped the blocks after this one; undefined if there was none. */
  ancestorNumber: number | undefined;
  /** The new blocks. The last one is the head. */
  blocks: readonly BlockRef[];
  entries: readonly Entry[];
  /** The number of the oldest block whose hash is kept. */
  oldestKept: number;
  now: number;
}

/** The values of an entry's `told`: which events were announced. */
export const TOLD = { nothing: 0, confirmed: 1, all: 2 } as const;

const ROWS_AT_ONCE = 200;

const selectFollowed = prepared<{ caip2: string }>()((db, { caip2 }) =>
  db
    .selectFrom("followed_chains")
    .select(["head_number", "head_hash", "finalized_number", "genesis_hash"])
    .where("caip2", "=", caip2),
);

export async function findFollowed(read: Reader, caip2: Chain): Promise<Followed | undefined> {
  const [row] = await selectFollowed(read, { caip2 });
  if (!row) return undefined;
  return {
    head: { number: row.head_number, hash: row.head_hash },
    finalizedNumber: row.finalized_number,
    genesisHash: row.genesis_hash ?? undefined,
  };
}

/** The blocks whose hashes are kept, from this number downward, newest first. */
export const findKeptBlocks = prepared<{ caip2: string; from: number }>()((db, { caip2, from }) =>
  db
    .selectFrom("followed_blocks")
    .select(["number", "hash"])
    .where("caip2", "=", caip2)
    .where("number", "<=", from)
    .orderBy("number", "desc"),
);

/** Stores the result of a turn. Resolves to false, and stores nothing, if another process has followed the chain meanwhile. */
export async function storeProgress(tx: Transactor, progress: Progress): Promise<boolean> {
  const { caip2, from, to, ancestorNumber, blocks, entries, oldestKept, now } = progress;
  const moved = { caip2, ...columnsOf(to), now };
  const stored = from
    ? await moveHead(tx, { ...moved, fromNumber: from.head.number, fromHash: from.head.hash })
    : await beginHead(tx, moved);
  if (stored.length === 0) return false;
  if (ancestorNumber !== undefined) await giveUpAfter(tx, caip2, ancestorNumber);
  for (let at = 0; at < blocks.length; at += ROWS_AT_ONCE) {
    const rows = blocks.slice(at, at + ROWS_AT_ONCE).map(({ number, hash }) => ({ caip2, number, hash }));
    await tx.insertInto("followed_blocks").values(rows).execute();
  }
  await addEntries(tx, caip2, entries, TOLD.nothing);
  await tx.deleteFrom("followed_blocks").where("caip2", "=", caip2).where("number", "<", oldestKept).execute();
  return true;
}

/** Adds entries that do not exist yet. `told` applies to those with changes to announce. */
export async function addEntries(tx: Transactor, caip2: Chain, entries: readonly Entry[], told: number): Promise<void> {
  for (let at = 0; at < entries.length; at += ROWS_AT_ONCE) {
    const rows = (await ofLiving(tx, entries.slice(at, at + ROWS_AT_ONCE))).map((entry) => ({
      organization_id: entry.organizationId,
      caip2,
      address: entry.address,
      position: entry.position,
      block_hash: entry.blockHash,
      block_time: entry.blockTime,
      transaction_hash: entry.transactionHash,
      sender: entry.sender,
      recipient: entry.recipient,
      fee_amount: entry.fee.amount,
      fee_token: entry.fee.token,
      failed: Number(entry.failed),
      transfers: JSON.stringify(entry.transfers),
      solana: entry.solana ? JSON.stringify(entry.solana) : null,
      changes: entry.changes.length > 0 ? JSON.stringify(entry.changes) : null,
      told: entry.changes.length > 0 ? told : TOLD.all,
    }));
    if (rows.length === 0) continue;
    await tx
      .insertInto("eth_history")
      .values(rows)
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  }
}

/** The entries whose organizations have not been deleted since. */
async function ofLiving(tx: Transactor, entries: readonly Entry[]): Promise<readonly Entry[]> {
  const ids = [...new Set(entries.map(({ organizationId }) => organizationId))];
  const living = await tx
    .selectFrom("organizations")
    .select("id")
    .where("id", "in", ids)
    .where("deleted_at", "is", null)
    .execute();
  const isLiving = new Set(living.map(({ id }) => id));
  return entries.filter(({ organizationId }) => isLiving.has(organizationId));
}

/** Deletes everything after this block, because a reorganization dropped it. */
async function giveUpAfter(tx: Transactor, caip2: Chain, number: number): Promise<void> {
  await tx.deleteFrom("followed_blocks").where("caip2", "=", caip2).where("number", ">", number).execute();
  await tx
    .deleteFrom("eth_history")
    .where("caip2", "=", caip2)
    .where("position", ">=", beginOf(number + 1))
    .execute();
}

const columnsOf = ({ head, finalizedNumber, genesisHash }: Followed) => ({
  number: head.number,
  hash: head.hash,
  finalizedNumber,
  genesisHash: genesisHash ?? null,
});

interface Head extends Record<string, unknown> {
  caip2: string;
  number: number;
  hash: string;
  finalizedNumber: number;
  genesisHash: string | null;
  now: number;
}

const beginHead = preparedWrite<Head>()((db, head) =>
  db
    .insertInto("followed_chains")
    .values({
      caip2: head.caip2,
      head_number: head.number,
      head_hash: head.hash,
      finalized_number: head.finalizedNumber,
      genesis_hash: head.genesisHash,
      updated_at: head.now,
    })
    .onConflict((conflict) => conflict.doNothing())
    .returning("caip2"),
);

const moveHead = preparedWrite<Head & { fromNumber: number; fromHash: string }>()((db, head) =>
  db
    .updateTable("followed_chains")
    .set({
      head_number: head.number,
      head_hash: head.hash,
      finalized_number: head.finalizedNumber,
      genesis_hash: head.genesisHash,
      updated_at: head.now,
    })
    .where("caip2", "=", head.caip2)
    .where("head_number", "=", head.fromNumber)
    .where("head_hash", "=", head.fromHash)
    .returning("caip2"),
);
