import type { Asset, AssetBook } from "../../chains/evm/assets.ts";
import { MAX_SHOWN_TRANSFERS } from "../../kernel/limits.ts";
import { pause } from "../../kernel/turns.ts";
import type { Chain } from "../../nodes/families.ts";
import { positionOf } from "./position.ts";

/** Extracts from blocks what concerns the addresses of wallet accounts. */

/** The part of a block that histories need, for all chains. */
export interface SeenBlock {
  number: number;
  hash: string;
  /** In seconds. */
  timestamp: number;
  transactions: readonly SeenTransaction[];
}

export interface SeenTransaction {
  /** Its index in the block. */
  index: number;
  /** The transaction hash; on Solana, the signature. */
  hash: string;
  /** The sender; on Solana, the fee payer. */
  from: string;
  /** Null if it created a contract, and on Solana. */
  to: string | null;
  /** In atomic units of the native asset, or of `feeToken`. */
  fee: bigint;
  feeToken: string | null;
  failed: boolean;
  transfers: readonly Transfer[];
  /** Only on Solana. */
  solana?: SolanaDetails;
}

/** A transfer of an amount from one address to another. A null token stands for the native asset. */
interface Transfer {
  token: string | null;
  from: string;
  to: string;
  amount: bigint;
}

/** What histories of Solana show in addition to those of all chains. */
export interface SolanaDetails {
  /** In the order of the message. */
  signers: readonly { address: string; writable: boolean }[];
  failed: boolean;
}

/** A transaction as it is seen from one address of one organization. */
export interface Entry {
  organizationId: string;
  /** In lowercase for Ethereum, like all its addresses here. */
  address: string;
  position: number;
  blockHash: string;
  /** In milliseconds. */
  blockTime: number;
  transactionHash: string;
  sender: string;
  recipient: string | null;
  fee: { amount: string; token: string | null };
  failed: boolean;
  /** The first ones, in the order in which they happened. */
  transfers: EntryTransfer[];
  /** Only on Solana. */
  solana?: SolanaDetails | undefined;
  /** The sums received and sent, for each known asset. All transfers count, not only the first ones. */
  changes: EntryChange[];
}

export interface EntryTransfer {
  direction: "IN" | "OUT";
  /** The token's contract or mint; null for the native asset. */
  token: string | null;
  counterparty: string;
  /** Atomic units. */
  amount: string;
}

export interface EntryChange {
  operation: "deposit" | "withdraw";
  asset: Pick<Asset, "symbol" | "name" | "decimals" | "caip19">;
  /** Atomic units. */
  amount: string;
}

/** Every address that a block names. */
export async function addressesOf({ transactions }: SeenBlock): Promise<string[]> {
  const addresses = new Set<string>();
  for (const transaction of transactions) {
    await pause();
    for (const address of partiesOf(transaction)) addresses.add(address);
  }
  return [...addresses];
}

function partiesOf({ from, to, transfers, solana }: SeenTransaction): Set<string> {
  const parties = new Set([from]);
  if (to !== null) parties.add(to);
  for (const { address } of solana?.signers ?? []) parties.add(address);
  for (const transfer of transfers) parties.add(transfer.from).add(transfer.to);
  return parties;
}

/** The entries of a block for those of its addresses that belong to organizations. */
export async function entriesOf(
  chain: Chain,
  block: SeenBlock,
  owners: ReadonlyMap<string, readonly string[]>,
  assets: AssetBook,
): Promise<Entry[]> {
  const entries: Entry[] = [];
  for (const transaction of block.transactions) {
    const transfers = await transfersByAddress(transaction, owners);
    for (const address of partiesOf(transaction)) {
      const organizationIds = owners.get(address);
      if (organizationIds === undefined) continue;
      await pause();
      const entry = entryOf(chain, block, transaction, { address, own: transfers.get(address) ?? [], assets });
      entries.push(...organizationIds.map((organizationId) => ({ organizationId, ...entry })));
    }
  }
  return entries;
}

function entryOf(
  chain: Chain,
  block: SeenBlock,
  transaction: SeenTransaction,
  { address, own, assets }: { address: string; own: readonly EntryTransfer[]; assets: AssetBook },
): Omit<Entry, "organizationId"> {
  const { index, hash, from, to, fee, feeToken, failed, solana } = transaction;
  return {
    address,
    position: positionOf(block.number, index),
    blockHash: block.hash,
    blockTime: block.timestamp * 1000,
    transactionHash: hash,
    sender: from,
    recipient: to,
    fee: { amount: String(fee), token: feeToken },
    failed,
    solana,
    transfers: own.slice(0, MAX_SHOWN_TRANSFERS),
    changes: changesOf(own, (token) => assets.assetOf(chain, token)),
  };
}

/** A transaction's transfers as seen by each address with an owner. One pass, because a transaction may pay very many addresses. */
async function transfersByAddress(
  { transfers }: SeenTransaction,
  owners: ReadonlyMap<string, unknown>,
): Promise<Map<string, EntryTransfer[]>> {
  const seen = new Map<string, EntryTransfer[]>();
  const add = (address: string, transfer: EntryTransfer): void => {
    if (!owners.has(address)) return;
    const own = seen.get(address);
    if (own) own.push(transfer);
    else seen.set(address, [transfer]);
  };
  for (const { token, from, to, amount } of transfers) {
    await pause();
    const rest = { token, amount: String(amount) };
    // A transfer to the same address counts in both directions.
    add(from, { direction: "OUT", counterparty: to, ...rest });
    add(to, { direction: "IN", counterparty: from, ...rest });
  }
  return seen;
}

function changesOf(
  transfers: readonly EntryTransfer[],
  assetOf: (token: string | null) => Asset | undefined,
): EntryChange[] {
  const sums = new Map<string, { operation: EntryChange["operation"]; asset: Asset; amount: bigint }>();
  for (const { direction, token, amount } of transfers) {
    const asset = assetOf(token);
    if (!asset) continue;
    const operation = direction === "IN" ? "deposit" : "withdraw";
    const key = `${operation} ${asset.caip19}`;
    const sum = sums.get(key) ?? { operation, asset, amount: 0n };
    sum.amount += BigInt(amount);
    sums.set(key, sum);
  }
  return [...sums.values()].map(({ operation, asset: { symbol, name, decimals, caip19 }, amount }) => ({
    operation,
    asset: { symbol, name, decimals, caip19 },
    amount: String(amount),
  }));
}
