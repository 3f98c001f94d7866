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
 * Deletes up to `limit` of the rows that are selected, on either database, and resolves to how many.
 *
 * @param from the deletion, with no condition but on what others may change of a row meanwhile: PostgreSQL holds a row that it had to
 *   wait for against that one again, and not against those of the selection
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

/** Whether there are more than `count` of the rows that are selected; of them it looks at no more. */
export async function areMoreThan(
  count: number,
  rows: SelectQueryBuilder<Schema, keyof Schema, object>,
): Promise<boolean> {
  const further = await rows.select(sql<number>`1`.as("one")).offset(count).limit(1).executeTakeFirst();
  return further !== undefined;
}

/** What SQLite knows a row of any table by. */
export const rowId = sql<number>`rowid`;

/**
 * Deletes rows of which an organization may have any number, within one transaction. PostgreSQL holds nobody up, and with each portion
 * would look again at what is deleted already: there it is one statement.
 *
 * @param from the deletion without conditions
 * @param rows the table to select from, without conditions, in the order in which its rows lie together
 * @param which tells the rows that are to go
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
 * The same on SQLite, which holds the whole process for as long as a statement runs: it is asked for a portion at a time, and others have
 * their turns in between.
 *
 * @param from the deletion without conditions
 * @param which selects the `rowId` of all that are to go
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
