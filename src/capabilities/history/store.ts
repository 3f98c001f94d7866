import type { Page } from "../../engine/paging.ts";
import type { Chain } from "../../nodes/families.ts";
import type { Reader } from "../../storage/engine.ts";
import { prepared } from "../../storage/prepared.ts";

/** The entries of one address, page by page. */

/** The address whose transactions are listed. */
export interface HistoryOf {
  organizationId: string;
  caip2: Chain;
  /** In lowercase for Ethereum. */
  address: string;
}

/** The positions between which a page lies, both exclusive. */
export interface Places {
  /** Newer than this one. */
  before: number | undefined;
  /** Older than this one. */
  after: number | undefined;
}

interface Place {
  position: number;
  bytes: number;
}

/** The size of an entry without its transfers. It includes the signers, of which a Solana packet has room for twelve. */
const ROW_BYTES = 1536;
const LOWEST = -1;
const HIGHEST = Number.MAX_SAFE_INTEGER;

/** The positions of a page, newest first, with the approximate size of each entry, and whether there are more on either side. */
export async function findPlaces(
  read: Reader,
  of: HistoryOf,
  { limit }: Page,
  { before, after }: Places,
): Promise<{ places: Place[]; hasOlder: boolean; hasNewer: boolean }> {
  const goesUp = before !== undefined;
  const select = goesUp ? selectUpwards : selectDownwards;
  const rows = await select(read, { ...of, from: before ?? after ?? HIGHEST, limit: limit + 1 });
  const isCut = rows.length > limit;
  const places = rows.slice(0, limit).map(({ position, length }) => ({ position, bytes: ROW_BYTES + Number(length) }));
  if (goesUp) places.reverse();
  const newest = places[0]?.position ?? before ?? LOWEST;
  const oldest = places.at(-1)?.position ?? after ?? HIGHEST;
  const isAny = async (rowsThere: Promise<unknown[]>) => (await rowsThere).length > 0;
  return {
    places,
    hasNewer: goesUp
      ? isCut
      : after !== undefined && (await isAny(selectUpwards(read, { ...of, from: newest, limit: 1 }))),
    hasOlder: goesUp ? await isAny(selectDownwards(read, { ...of, from: oldest, limit: 1 })) : isCut,
  };
}

/** The entries at these positions, newest first. */
export function findEntries(read: Reader, { organizationId, caip2, address }: HistoryOf, places: readonly Place[]) {
  return read
    .selectFrom("eth_history")
    .selectAll()
    .where("organization_id", "=", organizationId)
    .where("caip2", "=", caip2)
    .where("address", "=", address)
    .where(
      "position",
      "in",
      places.map(({ position }) => position),
    )
    .orderBy("position", "desc")
    .execute();
}

interface Span extends Record<string, unknown> {
  organizationId: string;
  caip2: string;
  address: string;
  from: number;
  limit: number;
}

const selectDownwards = prepared<Span>()((db, { organizationId, caip2, address, from, limit }) =>
  db
    .selectFrom("eth_history")
    .select((of) => ["position", of.fn<number>("length", ["transfers"]).as("length")])
    .where("organization_id", "=", organizationId)
    .where("caip2", "=", caip2)
    .where("address", "=", address)
    .where("position", "<", from)
    .orderBy("position", "desc")
    .limit(limit),
);

const selectUpwards = prepared<Span>()((db, { organizationId, caip2, address, from, limit }) =>
  db
    .selectFrom("eth_history")
    .select((of) => ["position", of.fn<number>("length", ["transfers"]).as("length")])
    .where("organization_id", "=", organizationId)
    .where("caip2", "=", caip2)
    .where("address", "=", address)
    .where("position", ">", from)
    .orderBy("position", "asc")
    .limit(limit),
);
