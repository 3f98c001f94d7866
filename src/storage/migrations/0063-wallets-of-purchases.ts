import type { Kysely } from "kysely";

/** Where a purchase of an on-ramp pays to; null for those that were begun before. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable("on_ramp_transactions").addColumn("wallet_address", "text").execute();
}
