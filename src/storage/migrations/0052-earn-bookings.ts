import type { Kysely } from "kysely";

/** What a request of earn changed in the totals of its position, so that it can be undone if a reorganization changes the outcome. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable("earn_requests").addColumn("booked", "text").execute();
}
