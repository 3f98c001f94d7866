import type { UpdateObject } from "kysely";
import type { Transactor } from "../../../storage/engine.ts";
import type { Schema } from "../../../storage/schema.ts";
import type { AUTHORITY_TABLES } from "../known.ts";

/** Updates and deletions of rows, always restricted to the organization, so that no writer can forget that. */

type AuthorityTable = (typeof AUTHORITY_TABLES)[number];

/** The tables with the columns `organization_id` and `id`. */
type TableWithIds = {
  [Table in AuthorityTable]: Schema[Table] extends { organization_id: string; id: string } ? Table : never;
}[AuthorityTable];

/** One row, or several. */
type Which = { organizationId: string; id: string } | { organizationId: string; ids: readonly string[] };

export async function updateRows<Table extends TableWithIds>(
  tx: Transactor,
  table: Table,
  which: Which,
  values: UpdateObject<Schema, Table, Table>,
): Promise<void> {
  const own = tx
    // All these tables have both columns; the cast picks one for the compiler.
    .updateTable(table as "tags")
    .set(values as UpdateObject<Schema, "tags", "tags">)
    .where("organization_id", "=", which.organizationId);
  await ("id" in which ? own.where("id", "=", which.id) : own.where("id", "in", which.ids)).execute();
}

/** Deletes rows, and by foreign keys everything that refers to them. */
export async function deleteRows(tx: Transactor, table: TableWithIds, which: Which): Promise<void> {
  const own = tx.deleteFrom(table as "tags").where("organization_id", "=", which.organizationId);
  await ("id" in which ? own.where("id", "=", which.id) : own.where("id", "in", which.ids)).execute();
}

/** The columns for when a row was created and last updated. Immutable objects only have `createdAt`. */
export const timesOf = ({ createdAt, updatedAt = createdAt }: { createdAt: number; updatedAt?: number }) => ({
  created_at: createdAt,
  updated_at: updatedAt,
});
