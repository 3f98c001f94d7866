import { createHash } from "node:crypto";
import type { Static } from "typebox";
import { bytesFromBase64Url } from "../kernel/bytes.ts";
import { fail } from "../kernel/errors.ts";
import { DEFAULT_PAGE_SIZE } from "../kernel/limits.ts";
import type { CursorPagination, Pagination } from "./fields.ts";

/** Which part of a list is asked for. At most one of the cursors is set; both exclude the object they name. */
export interface Page {
  limit: number;
  before?: string;
  after?: string;
}

/** Reads `paginationOptions`; an empty string counts as absent, as several clients send it so. */
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

/** Going up from a cursor takes the nearest rows; the page itself is newest first either way. */
export const newestFirst = <Row>(rows: Row[], { after }: Page): Row[] => (after === undefined ? rows : rows.reverse());

/**
 * Orders the few rows that a look-up finds. The database is not asked to, as it would rather read all of an organization in
 * that order until it meets them.
 */
export const oldestFirst = (one: { id: string }, other: { id: string }): number => (one.id < other.id ? -1 : 1);

/**
 * The cursor of a place in a list, opaque to clients. `list` names the list, such as that of one address on one chain: a cursor is good
 * for its own list alone.
 */
export const cursorOf = (list: readonly string[], place: number): string =>
  Buffer.from(`${markOf(list)} ${place}`).toString("base64url");

/**
 * The place that a cursor names, or undefined.
 *
 * @throws KeysteadError FIELD_INVALID naming `field`, for one of another list too
 */
export function placeIn(list: readonly string[], cursor: string | undefined, field: string): number | undefined {
  if (cursor === undefined) return undefined;
  const [mark, place = ""] = (bytesFromBase64Url(cursor)?.toString() ?? "").split(" ");
  if (mark === markOf(list) && /^[0-9]{1,16}$/.test(place)) return Number(place);
  return fail("FIELD_INVALID", {
    field: `paginationOptions.${field}`,
    reason: "must be a cursor that an answer to the same question gave in its `pageInfo`",
  });
}

const markOf = (list: readonly string[]): string =>
  createHash("sha256").update(JSON.stringify(list)).digest("base64url").slice(0, 22);
