import type { Kysely } from "kysely";

/** The address that an on-ramp purchase pays to; null for those that were begun before. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable("on_ramp_transactions").addColumn("wallet_address", "text").execute();
}
