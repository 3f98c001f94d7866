import type { Kysely } from "kysely";

/** Sub-organizations that were deleted and still have rows: of some tables there are more than one transaction should delete. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable("organizations")
    .addColumn("erasing", "integer", (column) => column.notNull().defaultTo(0))
    .execute();
}
