import { type DeleteResult, sql } from "kysely";
import { MAX_DELETED_ROWS } from "../kernel/limits.ts";
import { pause } from "../kernel/turns.ts";

/** What SQLite knows a row of any table by. */
export const rowId = sql<number>`rowid`;

/**
 * Deletes rows of which an organization may have any number, within one transaction on SQLite. That holds the whole process for as long
 * as a statement runs, so it is asked for a portion at a time, and others have their turns in between. PostgreSQL holds nobody up, and
 * with each portion would look again at what is deleted already: there one statement is better.
 *
 * @param deleteSome makes a statement that deletes up to `limit`; the first that deletes fewer is the last
 */
export async function deleteInTurns(
  organizationId: string,
  deleteSome: (limit: number) => { executeTakeFirstOrThrow(): Promise<DeleteResult> },
): Promise<void> {
  for (let isFull = true; isFull; ) {
    await pause(organizationId);
    const { numDeletedRows } = await deleteSome(MAX_DELETED_ROWS).executeTakeFirstOrThrow();
    isFull = numDeletedRows === BigInt(MAX_DELETED_ROWS);
  }
}
