import { type Static, Type } from "typebox";
import type { AssetBook } from "../../chains/evm/assets.ts";
import { type CursorPagination, OneOf, type PageInfo } from "../../engine/fields.ts";
import { cursorOf, pageOf, placeIn } from "../../engine/paging.ts";
import type { Chain } from "../../nodes/families.ts";
import type { Reader } from "../../storage/engine.ts";
import { findOwnSends, type OwnSend } from "../sending/store.ts";
import type { EntryTransfer } from "./entries.ts";
import { findFollowed } from "./following.ts";
import { Display, displayOf, feeAssetId, requireWalletAddress, spelledOn } from "./model.ts";
import { beginOf, blockNumberOf } from "./position.ts";
import { findEntries, findPlaces, type HistoryOf } from "./store.ts";

/** What the histories of all chains have in common: pages, and the form of a transaction. */

const TransferItem = Type.Object(
  {
    direction: OneOf(["IN", "OUT"]),
    /** Absent for an unknown token. */
    asset: Type.Optional(
      Type.Object({
        caip19: Type.String(),
        symbol: Type.String(),
        name: Type.String(),
        decimals: Type.Integer(),
      }),
    ),
    amount: Type.String(),
    counterparty: Type.String(),
    display: Type.Optional(Display),
  },
  { $id: "TransactionHistoryTransfer" },
);

/** What this service knows about a transaction that it sent itself. */
const OwnSendItem = Type.Object(
  {
    sponsored: Type.Boolean(),
    activityFingerprint: Type.Optional(Type.String()),
    submittedAt: Type.Optional(Type.String()),
  },
  { $id: "TransactionHistoryService" },
);

/** The members of transactions on all chains. */
export const commonItem = {
  block: Type.Object({ number: Type.String(), hash: Type.String(), timestamp: Type.String() }),
  status: OneOf(["CONFIRMED", "FINALIZED"]),
  origin: OneOf(["TURNKEY", "EXTERNAL"]),
  fee: Type.Object({ amount: Type.String(), caip19: Type.String() }),
  transfers: Type.Array(TransferItem),
  service: Type.Optional(OwnSendItem),
  turnkey: Type.Optional(OwnSendItem),
};
const Common = Type.Object(commonItem);

export type Row = Awaited<ReturnType<typeof findEntries>>[number];

/** The parts of a response. */
export interface Listed {
  rows: Row[];
  pageInfo: Static<typeof PageInfo>;
  common: (row: Row) => Static<typeof Common>;
}

interface Surroundings {
  read: Reader;
  assets: AssetBook;
  takeRoom: (bytes: number) => Promise<void>;
  /** Refuses a chain without nodes. */
  requireNodes: () => Promise<void>;
}

/**
 * A page of the history of a wallet account's address.
 *
 * @throws KeysteadError FIELD_INVALID for the address of a private key or a cursor of another list, RESOURCE_NOT_FOUND, and as `takeRoom`
 */
export async function historyPage(
  { read, assets, takeRoom, requireNodes }: Surroundings,
  of: HistoryOf,
  options: Static<typeof CursorPagination> | undefined,
): Promise<Listed> {
  const { organizationId, caip2, address } = of;
  const list = [organizationId, caip2, address];
  const page = pageOf(options);
  const cursors = { before: placeIn(list, page.before, "before"), after: placeIn(list, page.after, "after") };
  await requireWalletAddress(read, of);
  await requireNodes();

  const { places, hasOlder, hasNewer } = await findPlaces(read, of, page, cursors);
  await takeRoom(places.reduce((sum, { bytes }) => sum + bytes, 0));
  const rows = places.length > 0 ? await findEntries(read, of, places) : [];
  const hashes = rows.map((row) => row.transaction_hash);
  const sends = await findOwnSends(read, organizationId, caip2, hashes);
  const followed = await findFollowed(read, caip2);
  const endOfFinal = followed ? beginOf(followed.finalizedNumber + 1) : 0;
  const [newest, oldest] = [rows[0], rows.at(-1)];
  return {
    rows,
    pageInfo: {
      hasNextPage: hasOlder,
      hasPreviousPage: hasNewer,
      ...(newest && oldest
        ? { startCursor: cursorOf(list, newest.position), endCursor: cursorOf(list, oldest.position) }
        : {}),
    },
    common: (row) =>
      commonOf(row, { caip2, assets, isFinal: row.position < endOfFinal, send: sends.get(row.transaction_hash) }),
  };
}

function commonOf(
  row: Row,
  known: { caip2: Chain; assets: AssetBook; isFinal: boolean; send: OwnSend | undefined },
): Static<typeof Common> {
  const { caip2, assets, isFinal, send } = known;
  const transfers = JSON.parse(row.transfers) as EntryTransfer[];
  const service = send && {
    sponsored: send.sponsored,
    activityFingerprint: send.activityFingerprint,
    submittedAt: rfc3339(send.submittedAt),
  };
  return {
    block: {
      number: String(blockNumberOf(row.position)),
      hash: row.block_hash,
      timestamp: rfc3339(row.block_time),
    },
    status: isFinal ? "FINALIZED" : "CONFIRMED",
    origin: send ? "TURNKEY" : "EXTERNAL",
    fee: { amount: row.fee_amount, caip19: feeAssetId(assets, caip2, row.fee_token) },
    transfers: transfers.map((transfer) => transferItem(transfer, caip2, assets)),
    ...(service ? { service } : {}),
  };
}

function transferItem(
  { direction, token, amount, counterparty }: EntryTransfer,
  caip2: Chain,
  assets: AssetBook,
): Static<typeof TransferItem> {
  const asset = assets.assetOf(caip2, token);
  const rest = { amount, counterparty: spelledOn(caip2, counterparty) };
  if (!asset) return { direction, ...rest };
  const { caip19, symbol, name, decimals } = asset;
  const display = displayOf(assets, asset, BigInt(amount));
  return { direction, asset: { caip19, symbol, name, decimals }, ...rest, display };
}

const rfc3339 = (milliseconds: number): string => new Date(milliseconds).toISOString();
