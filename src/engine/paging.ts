import { createHash } from "node:crypto";
import type { Static } from "typebox";
import { bytesFromBase64Url } from "../kernel/bytes.ts";
import { fail } from "../kernel/errors.ts";
import { DEFAULT_PAGE_SIZE } from "../kernel/limits.ts";
import type { CursorPagination, Pagination } from "./fields.ts";

/** The requested part of a list. At most one of the cursors is set; the object that it names is excluded. */
export interface Page {
  limit: number;
  before?: string;
  after?: string;
}

/** Reads `paginationOptions`. An empty string counts as absent, because several clients send it that way. */
export function pageOf({ limit, before, after }: Static<typeof Pagination | typeof CursorPagination> = {}): Page {
  if (before && after) {
    fail("FIELD_INVALID", { field: "paginationOptions", reason: "must not have both `before` and `after`" });
  }
  return {
    limit: limit ? Number(limit) : DEFAULT_PAGE_SIZE,
    ...(before ? { before } : {}),
    ...(after ? { after } : {}),
  };
}

/** Puts the newest row first. Rows after a cursor are read oldest first, to get those nearest to it. */
export const newestFirst = <Row>(rows: Row[], { after }: Page): Row[] => (after === undefined ? rows : rows.reverse());

/**
 * Compares two of the few rows that a look-up returns, to sort them. Asked to sort, the database may choose to scan all rows of the
 * organization in that order instead of using the index.
 */
export const oldestFirst = (one: { id: string }, other: { id: string }): number => (one.id < other.id ? -1 : 1);

/**
 * A cursor for a place in a list, opaque to clients. `list` identifies the list, such as the history of one address on one chain; the cursor
 * is valid for that list only.
 */
export const cursorOf = (list: readonly string[], place: number): string =>
  Buffer.from(`${markOf(list)} ${place}`).toString("base64url");

/**
 * The place that a cursor names; undefined without a cursor.
 *
 * @throws KeysteadError FIELD_INVALID naming `field`, also for a cursor of another list
 */
export function placeIn(list: readonly string[], cursor: string | undefined, field: string): number | undefined {
  if (cursor === undefined) return undefined;
  const [mark, place = ""] = (bytesFromBase64Url(cursor)?.toString() ?? "").split(" ");
  if (mark === markOf(list) && /^[0-9]{1,16}$/.test(place)) return Number(place);
  return fail("FIELD_INVALID", {
    field: `paginationOptions.${field}`,
    reason: "must be a cursor from the `pageInfo` of an answer to the same query",
  });
}

const markOf = (list: readonly string[]): string =>
  createHash("sha256").update(JSON.stringify(list)).digest("base64url").slice(0, 22);
