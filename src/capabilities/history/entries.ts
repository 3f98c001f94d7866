import type { Asset, AssetBook } from "../../chains/evm/assets.ts";
import { MAX_SHOWN_TRANSFERS } from "../../kernel/limits.ts";
import { pause } from "../../kernel/turns.ts";
import type { Chain } from "../../nodes/families.ts";
import { positionOf } from "./position.ts";

/** What a block holds for addresses of wallet accounts. */

/** A block as far as histories go, of whichever chain. */
export interface SeenBlock {
  number: number;
  hash: string;
  /** Seconds. */
  timestamp: number;
  transactions: readonly SeenTransaction[];
}

export interface SeenTransaction {
  /** Its place in the block. */
  index: number;
  /** By which the chain knows it: the signature, on Solana. */
  hash: string;
  /** On Solana, who paid the fee. */
  from: string;
  /** Null where it made a contract, and on Solana. */
  to: string | null;
  /** Atomic units of the native asset, or of `feeToken`. */
  fee: bigint;
  feeToken: string | null;
  failed: boolean;
  transfers: readonly Transfer[];
  /** Of Solana alone. */
  solana?: SolanaDetails;
}

/** Of an amount from one address to another; the native asset for null. */
interface Transfer {
  token: string | null;
  from: string;
  to: string;
  amount: bigint;
}

/** What histories of Solana show beside what all have. */
export interface SolanaDetails {
  /** In the message's order. */
  signers: readonly { address: string; writable: boolean }[];
  failed: boolean;
}

/** A transaction as it is seen from one address of one organization. */
export interface Entry {
  organizationId: string;
  /** Of Ethereum in lowercase, as all its addresses here. */
  address: string;
  position: number;
  blockHash: string;
  /** Milliseconds. */
  blockTime: number;
  transactionHash: string;
  sender: string;
  recipient: string | null;
  fee: { amount: string; token: string | null };
  failed: boolean;
  /** The first of them, in the order in which they happened. */
  transfers: EntryTransfer[];
  /** Of Solana alone. */
  solana?: SolanaDetails | undefined;
  /** What came and went, known asset by known asset; all transfers count. */
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

/** The entries of a block for those of its addresses that organizations have. */
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

/** A transaction's transfers as each address sees them that is somebody's; looked at once, as one transaction may pay very many. */
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
    // One to oneself goes out and comes in.
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
