import type { Kysely } from "kysely";

/** What a request of earn changed in its position's totals, to be taken back where a reorganization gives it another end. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable("earn_requests").addColumn("booked", "text").execute();
}
