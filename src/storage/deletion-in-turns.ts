import {
  type DeleteQueryBuilder,
  type DeleteResult,
  type Expression,
  type ExpressionBuilder,
  type SelectQueryBuilder,
  type SqlBool,
  sql,
} from "kysely";
import { MAX_DELETED_ROWS } from "../kernel/limits.ts";
import { pause } from "../kernel/turns.ts";
import type { DatabaseKind } from "./engine.ts";
import type { Schema } from "./schema.ts";

/**
 * Deletes up to `limit` of the selected rows, on either database, and resolves to their number.
 *
 * @param from the deletion, with conditions only on columns that others may change concurrently: when PostgreSQL had to wait for a row, it
 *   checks these conditions again, but not those of the selection
 */
export async function deleteSome<Table extends keyof Schema>(
  kind: DatabaseKind,
  from: DeleteQueryBuilder<Schema, Table, DeleteResult>,
  rows: SelectQueryBuilder<Schema, Table, object>,
  limit: number,
): Promise<number> {
  const place = kind === "postgres" ? sql<number>`ctid` : rowId;
  const some = rows.select(place.as("row_id")).limit(limit);
  const { numDeletedRows } = await from.where(place, "in", some).executeTakeFirstOrThrow();
  return Number(numDeletedRows);
}

/** Whether the selection has more than `count` rows; reads no more than that many. */
export async function areMoreThan(
  count: number,
  rows: SelectQueryBuilder<Schema, keyof Schema, object>,
): Promise<boolean> {
  const further = await rows.select(sql<number>`1`.as("one")).offset(count).limit(1).executeTakeFirst();
  return further !== undefined;
}

/** Identifies a row of any table in SQLite. */
export const rowId = sql<number>`rowid`;

/**
 * Deletes rows of which an organization may have any number, within one transaction. On PostgreSQL this is one statement: it blocks nobody,
 * and portions would scan the rows already deleted again and again.
 *
 * @param from the deletion without conditions
 * @param rows the table to select from, without conditions, in the order in which its rows are stored
 * @param which the condition for rows to delete
 */
export async function deleteAll<Table extends keyof Schema>(
  kind: DatabaseKind,
  organizationId: string,
  from: DeleteQueryBuilder<Schema, Table, DeleteResult>,
  rows: SelectQueryBuilder<Schema, Table, object>,
  which: (row: ExpressionBuilder<Schema, Table>) => Expression<SqlBool>,
): Promise<void> {
  if (kind === "postgres") await from.where(which).execute();
  else await deleteInTurns(organizationId, from, rows.where(which).select(rowId.as("row_id")));
}

/**
 * The same on SQLite, where a statement blocks the whole process while it runs: deletes in portions, and lets other work run in between.
 *
 * @param from the deletion without conditions
 * @param which selects the `rowId` of all rows to delete
 */
export async function deleteInTurns<Table extends keyof Schema>(
  organizationId: string,
  from: DeleteQueryBuilder<Schema, Table, DeleteResult>,
  which: SelectQueryBuilder<Schema, Table, { row_id: number }>,
): Promise<void> {
  const portion = from.where(rowId, "in", which.limit(MAX_DELETED_ROWS));
  for (let isFull = true; isFull; ) {
    await pause(organizationId);
    const { numDeletedRows } = await portion.executeTakeFirstOrThrow();
    isFull = numDeletedRows === BigInt(MAX_DELETED_ROWS);
  }
}
