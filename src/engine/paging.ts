import type { Static } from "typebox";
import { fail } from "../kernel/errors.ts";
import { DEFAULT_PAGE_SIZE } from "../kernel/limits.ts";
import type { Pagination } from "./fields.ts";

/** Which part of a list is asked for. At most one of the cursors is set; both exclude the object they name. */
export interface Page {
  limit: number;
  before?: string;
  after?: string;
}

/** Reads `paginationOptions`; an empty string counts as absent, as several clients send it so. */
export function pageOf({ limit, before, after }: Static<typeof Pagination> = {}): Page {
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
