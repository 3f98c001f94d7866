import { type DeleteQueryBuilder, type DeleteResult, type SelectQueryBuilder, sql } from "kysely";
import { MAX_DELETED_ROWS } from "../kernel/limits.ts";
import { pause } from "../kernel/turns.ts";
import type { Schema } from "./schema.ts";

/** What SQLite knows a row of any table by. */
export const rowId = sql<number>`rowid`;

/**
 * Deletes rows of which an organization may have any number, within one transaction on SQLite. That holds the whole process for as long
 * as a statement runs, so it is asked for a portion at a time, and others have their turns in between. PostgreSQL holds nobody up, and
 * with each portion would look again at what is deleted already: there one statement is better.
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
