import type { Kysely } from "kysely";

/** Sub-organizations that were deleted and still have rows: some tables have more of them than one transaction should delete. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable("organizations")
    .addColumn("erasing", "integer", (column) => column.notNull().defaultTo(0))
    .execute();
}
