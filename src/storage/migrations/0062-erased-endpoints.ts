import type { Kysely } from "kysely";

/** Webhook endpoints that were deleted and still have deliveries: there may be more than one transaction should delete. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable("webhook_endpoints")
    .addColumn("erasing", "integer", (column) => column.notNull().defaultTo(0))
    .execute();
}
