import type { UpdateObject } from "kysely";
import type { Transactor } from "../../../storage/engine.ts";
import type { Schema } from "../../../storage/schema.ts";
import type { AUTHORITY_TABLES } from "../known.ts";

/** Rows are changed and deleted here, so that no writer can forget whose they are. */

type AuthorityTable = (typeof AUTHORITY_TABLES)[number];

/** The tables whose rows are found by the organization and an id. */
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
    // One of several tables that have both columns: what is asked of it is told by the types of the parameters.
    .updateTable(table as "tags")
    .set(values as UpdateObject<Schema, "tags", "tags">)
    .where("organization_id", "=", which.organizationId);
  await ("id" in which ? own.where("id", "=", which.id) : own.where("id", "in", which.ids)).execute();
}

/** With them goes what refers to them. */
export async function deleteRows(tx: Transactor, table: TableWithIds, which: Which): Promise<void> {
  const own = tx.deleteFrom(table as "tags").where("organization_id", "=", which.organizationId);
  await ("id" in which ? own.where("id", "=", which.id) : own.where("id", "in", which.ids)).execute();
}

/** When a row was made and last changed. What is never changed has but the one. */
export const timesOf = ({ createdAt, updatedAt = createdAt }: { createdAt: number; updatedAt?: number }) => ({
  created_at: createdAt,
  updated_at: updatedAt,
});
